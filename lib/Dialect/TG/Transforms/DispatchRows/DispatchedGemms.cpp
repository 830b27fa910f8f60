//===- DispatchedGemms.cpp - Grouped GEMMs where matrices are -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows are multiplied chunk by chunk. The gradient of matrices is a sum over
// rows, and one product of those of all chunks.
//
//===----------------------------------------------------------------------===//

#include "DispatchedRegion.h"

#include "regather/Dialect/TG/IR/RowShare.h"
#include "regather/Dialect/TG/Nodes/GroupedGemmArguments.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::spmd;

using Kind = SortedForm::Kind;

static RankedTensorType getGemmType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

Value DispatchedRegion::getPart(Operation *op, Value matrices) {
  Value &part = parts[matrices];
  if (!part) {
    const ExpertMatrices &gathered = plan.gathered.at(op);
    part = buildChain(communication.getBuilder(), gathered.part, gathered.chain,
                      exchange.getSizes().own);
  }
  return part;
}

void DispatchedRegion::setShare(Operation *part, Operation *op) {
  const ExchangeSizes &sizes = exchange.getSizes();
  double share = std::min(1.0, static_cast<double>(sizes.rows) /
                                   static_cast<double>(sizes.getSlots()));
  part->setAttr(kRowShareAttrName, communication.getBuilder().getF64FloatAttr(
                                       getRowShare(op) * share));
}

SmallVector<Value> DispatchedRegion::buildGemm(Operation *op,
                                               const SortedOp &planned,
                                               unsigned chunk) {
  nodes::GroupedGemm gemm = *nodes::matchGroupedGemm(op);
  SmallVector<Value> operands;
  for (auto [operand, form] :
       llvm::zip_equal(op->getOperands(), planned.operands)) {
    if (form.kind == Kind::Rows)
      operands.push_back(getSent(operand, form.dim, chunk));
    else if (operand == gemm.ends)
      operands.push_back(
          exchange.getEnds(chunk, getElementTypeOrSelf(operand.getType())));
    else if (operand == gemm.w.tensor)
      operands.push_back(getPart(op, operand));
    else
      operands.push_back(operand);
  }
  SmallVector<Type> types;
  for (auto [result, form] :
       llvm::zip_equal(op->getResults(), planned.results)) {
    SmallVector<int64_t> shape(getGemmType(result).getShape());
    if (form.kind == Kind::Reduced)
      shape.front() = exchange.getSizes().own;
    types.push_back(form.kind == Kind::Rows ? getSentType(result, form, chunk)
                                            : getGemmType(result).clone(shape));
  }
  Operation *part = cast<ShardingRuleOpInterface>(op).buildPart(
      communication.getBuilder(), operands, types);
  setShare(part, op);
  return SmallVector<Value>(part->getResults());
}

/// The matrix with its last two dimensions the other way round.
static Value turn(PartNodes &nodes, OpBuilder &builder, Value matrix) {
  RankedTensorType type = getGemmType(matrix);
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  SmallVector<int64_t> shape(type.getShape());
  std::swap(order[order.size() - 2], order.back());
  std::swap(shape[shape.size() - 2], shape.back());
  return nodes.make(NodeTarget::AtenPermuteDefault, type.clone(shape), matrix,
                    {OperandAttr::get(builder.getContext(), 0),
                     builder.getI64ArrayAttr(order)});
}

Value DispatchedRegion::buildRowGradient(Operation *op, unsigned chunk) {
  nodes::GroupedGemm gemm = *nodes::matchGroupedGemm(op);
  PartNodes nodes(communication);
  Value y = getSent(gemm.y.tensor, 0, chunk);
  Value w = turn(nodes, communication.getBuilder(), getPart(op, gemm.w.tensor));
  Value ends =
      exchange.getEnds(chunk, getElementTypeOrSelf(gemm.ends.getType()));
  Value gradient =
      nodes.make(NodeTarget::TransformersGroupedMmFallbackDefault,
                 getGemmType(y).clone({exchange.countSlots(chunk), gemm.inner}),
                 {y, w, ends});
  setShare(gradient.getDefiningOp(), op);
  return gradient;
}

Value DispatchedRegion::buildMatrixGradient(Operation *op) {
  nodes::GroupedGemm gemm = *nodes::matchGroupedGemm(op);
  PartNodes nodes(communication);
  unsigned all = exchange.getAll();
  Value x =
      turn(nodes, communication.getBuilder(), getSent(gemm.x.tensor, 0, all));
  Value y = getSent(gemm.y.tensor, 0, all);
  Value ends = exchange.getEnds(all, getElementTypeOrSelf(gemm.ends.getType()));
  Value gradient = nodes.make(
      NodeTarget::AtenGroupedMmDefault,
      getGemmType(y).clone({exchange.getSizes().own, gemm.inner, gemm.outer}),
      {x, y, ends});
  setShare(gradient.getDefiningOp(), op);
  return gradient;
}

void DispatchedRegion::replaceGemm(Operation *op, const SortedOp &planned) {
  nodes::GroupedGemm gemm = *nodes::matchGroupedGemm(op);
  unsigned numChunks = exchange.getNumChunks(), all = exchange.getAll();
  auto replaceAll = [&](unsigned chunk) {
    for (auto [result, local] :
         llvm::zip_equal(op->getResults(), buildGemm(op, planned, chunk)))
      sent[chunk][result] = local;
  };
  if (numChunks == 1 || !gemm.toW) {
    for (unsigned chunk = 0; chunk != numChunks; ++chunk)
      replaceAll(chunk);
  } else if (!gemm.toX) {
    replaceAll(all);
  } else {
    // One is computed chunk by chunk, the other one for all rows.
    Value toX = op->getResult(gemm.toX->number);
    Value toW = op->getResult(gemm.toW->number);
    for (unsigned chunk = 0; chunk != numChunks; ++chunk)
      sent[chunk][toX] = buildRowGradient(op, chunk);
    sent[all][toW] = buildMatrixGradient(op);
  }
  markReplaced(op);
  if (plan.scattered.contains(op))
    useMatrixGradient(op, sent[all].lookup(op->getResult(gemm.toW->number)));
}

void DispatchedRegion::useMatrixGradient(Operation *op, Value gradient) {
  const ExpertMatrices &matrices = plan.scattered.at(op);
  Value local = buildChain(communication.getBuilder(), gradient, matrices.chain,
                           exchange.getSizes().own);
  Value scattered = matrices.part;
  Operation *wait = scattered.getDefiningOp();
  scattered.replaceAllUsesWith(local);
  llvm::append_range(replaced, matrices.chain);
  replaced.push_back(wait->getOperand(0).getDefiningOp());
  replaced.push_back(wait);
}
