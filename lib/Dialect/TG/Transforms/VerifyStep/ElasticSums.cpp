//===- ElasticSums.cpp - Order of sums over the batch ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows the batch from the inputs: the dimension of each value in which it
// lies, and how many segments that dimension holds. Where a sharding rule does
// not say where the batch goes, it is not followed any further.
//
//===----------------------------------------------------------------------===//

#include "ElasticSums.h"

#include "../ShardParameters/FactorSplit.h"

#include "regather/Dialect/TG/IR/Elastic.h"
#include "regather/Dialect/TG/Targets/NodeTargets.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

namespace {
/// Where a value has the batch.
struct BatchPart {
  int64_t dim;
  int64_t segments;
};

class BatchWalk {
public:
  BatchWalk(FunctionOpInterface func, int64_t segments)
      : func(func), segments(segments) {}

  LogicalResult run();

private:
  void addArguments();
  LogicalResult visit(Operation *op);
  void visitSlice(tensor::ExtractSliceOp slice, BatchPart part);
  void visitConcatenation(NodeOp node);
  /// Follows the batch through `op`, which has it in this operand.
  LogicalResult visitRuled(Operation *op, const ShardingRule &rule,
                           unsigned operand, BatchPart part);

  FunctionOpInterface func;
  int64_t segments;
  llvm::DenseMap<Value, BatchPart> parts;
};
} // namespace

/// The reduction of a collective that computes; nothing for others.
static std::optional<Reduction> getReduction(Operation *op) {
  if (auto reduce = dyn_cast<AllReduceOp>(op))
    return reduce.getReduction();
  if (auto scatter = dyn_cast<ReduceScatterOp>(op))
    return scatter.getReduction();
  return std::nullopt;
}

void BatchWalk::addArguments() {
  for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i) {
    auto role = func.getArgAttrOfType<RoleAttr>(i, kRoleAttrName);
    auto placement =
        func.getArgAttrOfType<PlacementAttr>(i, kPlacementAttrName);
    if (!role || role.getKind() != RoleKind::Input || !placement ||
        placement.getAxes().size() != 1)
      continue;
    AxisPlacementAttr axis = placement.getAxes().front();
    MeshOp mesh = lookupMesh(func, placement.getMesh());
    if (axis.getKind() != PlacementKind::Shard || !mesh)
      continue;
    int64_t ranks = mesh.getGroupSize(axis.getAxes());
    if (segments % ranks == 0)
      parts[func.getArgument(i)] = {axis.getDim(), segments / ranks};
  }
}

void BatchWalk::visitSlice(tensor::ExtractSliceOp slice, BatchPart part) {
  int64_t whole = slice.getSourceType().getDimSize(part.dim);
  RankedTensorType type = slice.getType();
  if (type.getRank() != slice.getSourceType().getRank() ||
      type.getDimSize(part.dim) * part.segments % whole != 0)
    return;
  int64_t count = type.getDimSize(part.dim) * part.segments / whole;
  if (count > 0)
    parts[slice.getResult()] = {part.dim, count};
}

/// Segments that were worked on one by one are put together.
void BatchWalk::visitConcatenation(NodeOp node) {
  BatchPart whole = {-1, 0};
  int64_t size = 0;
  for (Value operand : node.getOperands()) {
    auto it = parts.find(operand);
    if (it == parts.end() || (whole.dim >= 0 && it->second.dim != whole.dim))
      return;
    whole.dim = it->second.dim;
    whole.segments += it->second.segments;
    size += cast<RankedTensorType>(operand.getType()).getDimSize(whole.dim);
  }
  Value result = node.getResult(0);
  if (cast<RankedTensorType>(result.getType()).getDimSize(whole.dim) == size)
    parts[result] = whole;
}

LogicalResult BatchWalk::visitRuled(Operation *op, const ShardingRule &rule,
                                    unsigned operand, BatchPart part) {
  std::optional<unsigned> factor =
      getOutermostFactor(rule, rule.operands[operand], part.dim);
  if (!factor)
    return success();
  FactorKind kind = rule.factors[*factor].kind;
  for (OpResult result : op->getResults()) {
    unsigned number = result.getResultNumber();
    if (!isDescribed(op, rule, number) || kind == FactorKind::Whole)
      continue;
    const TensorFactors &factors = rule.results[number];
    int64_t rank = factors.size();
    auto dims = llvm::seq<int64_t>(0, rank);
    auto dim = llvm::find_if(dims, [&](int64_t i) {
      return getOutermostFactor(rule, factors, i) == factor;
    });
    if (dim != dims.end()) {
      parts[result] = {*dim, part.segments};
      continue;
    }
    bool sums = kind == FactorKind::Sum || kind == FactorKind::Mean;
    if (!sums || part.segments == 1 || result.use_empty())
      continue;
    InFlightDiagnostic diag =
        op->emitError() << "sums " << part.segments
                        << " segments of the batch in an order of its own";
    diag.attachNote(func.getLoc())
        << "the step is elastic, so that sums are a tree over " << segments
        << " segments";
    return diag;
  }
  return success();
}

LogicalResult BatchWalk::visit(Operation *op) {
  if (std::optional<Reduction> reduction = getReduction(op);
      reduction && *reduction != Reduction::Max) {
    InFlightDiagnostic diag = op->emitError()
                              << "sums in the order of the ranks";
    diag.attachNote(func.getLoc())
        << "the step is elastic, so that sums are a tree over " << segments
        << " segments";
    return diag;
  }
  if (auto node = dyn_cast<NodeOp>(op);
      node && node.getTarget() == getName(NodeTarget::AtenCatDefault) &&
      node.getNumOperands() > 0) {
    visitConcatenation(node);
    return success();
  }
  std::optional<ShardingRule> rule;
  for (OpOperand &operand : op->getOpOperands()) {
    auto it = parts.find(operand.get());
    if (it == parts.end())
      continue;
    BatchPart part = it->second;
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
      visitSlice(slice, part);
      continue;
    }
    auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
    if (!ruled)
      return success();
    if (!rule)
      rule = ruled.getShardingRule();
    if (failed(visitRuled(op, *rule, operand.getOperandNumber(), part)))
      return failure();
  }
  return success();
}

LogicalResult BatchWalk::run() {
  addArguments();
  for (Operation &op : func.getFunctionBody().front())
    if (failed(visit(&op)))
      return failure();
  return success();
}

LogicalResult regather::tg::verifyElasticSums(FunctionOpInterface func) {
  int64_t segments = getElasticSegments(func);
  if (segments == 0 || !isa<func::FuncOp>(*func) ||
      !func.getFunctionBody().hasOneBlock())
    return success();
  return BatchWalk(func, segments).run();
}
