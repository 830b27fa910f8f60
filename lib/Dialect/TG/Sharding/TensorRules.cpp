//===- TensorRules.cpp - Rules of operations that shape tensors -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuleParts.h"

#include "regather/Dialect/TG/Nodes/ZeroTensors.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::sharding;

/// A rule whose operands and results are still to be set.
static ShardingRule makeRule(Operation *op) {
  ShardingRule rule;
  rule.operands.resize(op->getNumOperands());
  rule.results.resize(op->getNumResults());
  return rule;
}

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// A tensor that has the same elements everywhere, or any.
static ShardingRule getUniformRule(Operation *op) {
  ShardingRule rule = makeRule(op);
  rule.results[0] = addDims(rule, getShape(op->getResult(0)));
  return finishRule(std::move(rule), op);
}

static ShardingRule getViewRule(Operation *op) {
  ShardingRule rule = makeRule(op);
  ViewFactors view =
      addView(rule, getShape(op->getOperand(0)), getShape(op->getResult(0)));
  rule.operands[0] = view.from;
  rule.results[0] = view.to;
  rule.addLinear(0);
  return finishRule(std::move(rule), op);
}

/// Factors of a tensor, of which another one holds the slice that `op` names,
/// and those of the slice. A dimension that is taken entirely is split in both.
static std::pair<TensorFactors, TensorFactors>
addSlice(ShardingRule &rule, OffsetSizeAndStrideOpInterface op,
         ArrayRef<int64_t> shape, const llvm::SmallBitVector &dropped) {
  TensorFactors whole, slice;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    int64_t taken = op.getStaticSizes()[dim];
    bool isEntire = taken == size && op.getStaticOffsets()[dim] == 0 &&
                    op.getStaticStrides()[dim] == 1;
    FactorKind kind = isEntire ? FactorKind::Parallel : FactorKind::Whole;
    whole.push_back(addDim(rule, size, kind));
    if (!dropped.test(dim))
      slice.push_back(isEntire ? whole.back() : addDim(rule, taken, kind));
  }
  return {whole, slice};
}

static ShardingRule getRule(tensor::ExtractSliceOp op) {
  ShardingRule rule = makeRule(op);
  std::tie(rule.operands[0], rule.results[0]) =
      addSlice(rule, op, op.getSourceType().getShape(), op.getDroppedDims());
  rule.addLinear(0);
  return finishRule(std::move(rule), op);
}

static ShardingRule getRule(tensor::InsertSliceOp op) {
  ShardingRule rule = makeRule(op);
  std::tie(rule.results[0], rule.operands[0]) =
      addSlice(rule, op, op.getDestType().getShape(), op.getDroppedDims());
  rule.operands[1] = rule.results[0];
  rule.addLinear({0, 1});
  if (isZero(op.getDest()))
    rule.addLinear(0);
  return finishRule(std::move(rule), op);
}

static ShardingRule getRule(tensor::ConcatOp op) {
  ShardingRule rule = makeRule(op);
  ArrayRef<int64_t> shape = op.getResultType().getShape();
  TensorFactors factors = addDims(rule, shape);
  auto setAlong = [&](int64_t size) {
    factors[op.getDim()] = addDim(rule, size, FactorKind::Whole);
    return factors;
  };
  llvm::SmallBitVector all(op->getNumOperands(), true);
  for (auto [number, input] : llvm::enumerate(op.getInputs()))
    rule.operands[number] = setAlong(getShape(input)[op.getDim()]);
  rule.results[0] = setAlong(shape[op.getDim()]);
  rule.linear.push_back(all);
  return finishRule(std::move(rule), op);
}

static ShardingRule getRule(tensor::PadOp op) {
  Value padding = op.getConstantPaddingValue();
  // Amounts and values that are computed may depend on the position.
  if (!padding || !op.getLow().empty() || !op.getHigh().empty())
    return ShardingRule::getWhole(op);
  ShardingRule rule = makeRule(op);
  ArrayRef<int64_t> source = op.getSourceType().getShape();
  ArrayRef<int64_t> result = op.getResultType().getShape();
  for (auto [dim, size] : llvm::enumerate(source)) {
    bool isPadded = op.getStaticLow()[dim] != 0 || op.getStaticHigh()[dim] != 0;
    FactorKind kind = isPadded ? FactorKind::Whole : FactorKind::Parallel;
    rule.operands[0].push_back(addDim(rule, size, kind));
    rule.results[0].push_back(isPadded ? addDim(rule, result[dim], kind)
                                       : rule.operands[0].back());
  }
  if (matchPattern(padding, m_AnyZeroFloat()) ||
      matchPattern(padding, m_Zero()))
    rule.addLinear(0);
  return finishRule(std::move(rule), op);
}

static ShardingRule getRule(tensor::EmptyOp op) { return getUniformRule(op); }
static ShardingRule getRule(tensor::SplatOp op) { return getUniformRule(op); }
static ShardingRule getRule(tensor::ExpandShapeOp op) {
  return getViewRule(op);
}
static ShardingRule getRule(tensor::CollapseShapeOp op) {
  return getViewRule(op);
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

static Operation *buildPartOf(Operation *op, OpBuilder &builder,
                              ValueRange operands, TypeRange resultTypes) {
  return mlir::clone(builder, op, resultTypes, operands);
}

static Operation *buildPartOf(tensor::ExpandShapeOp op, OpBuilder &builder,
                              ValueRange operands, TypeRange resultTypes) {
  auto part = cast<tensor::ExpandShapeOp>(
      mlir::clone(builder, op, resultTypes, operands));
  part.setStaticOutputShape(part.getResultType().getShape());
  return part;
}

/// Gives a slice the size of `slice` in the dimensions that it has.
template <typename OpTy>
static void setSliceSizes(OpTy part, Value slice,
                          const llvm::SmallBitVector &dropped) {
  SmallVector<int64_t> sizes(part.getStaticSizes());
  ArrayRef<int64_t> shape = getShape(slice);
  size_t next = 0;
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (!dropped.test(dim))
      size = shape[next++];
  part.setStaticSizes(sizes);
}

static Operation *buildPartOf(tensor::ExtractSliceOp op, OpBuilder &builder,
                              ValueRange operands, TypeRange resultTypes) {
  auto part = cast<tensor::ExtractSliceOp>(
      mlir::clone(builder, op, resultTypes, operands));
  setSliceSizes(part, part.getResult(), op.getDroppedDims());
  return part;
}

static Operation *buildPartOf(tensor::InsertSliceOp op, OpBuilder &builder,
                              ValueRange operands, TypeRange resultTypes) {
  auto part = cast<tensor::InsertSliceOp>(
      mlir::clone(builder, op, resultTypes, operands));
  setSliceSizes(part, part.getSource(), op.getDroppedDims());
  return part;
}

//===----------------------------------------------------------------------===//
// External models
//===----------------------------------------------------------------------===//

namespace {
template <typename OpTy>
struct TensorModel
    : ShardingRuleOpInterface::ExternalModel<TensorModel<OpTy>, OpTy> {
  ShardingRule getShardingRule(Operation *op) const {
    return hasDynamicShape(op) ? ShardingRule::getWhole(op)
                               : getRule(cast<OpTy>(op));
  }
  Operation *buildPart(Operation *op, OpBuilder &builder, ValueRange operands,
                       TypeRange resultTypes) const {
    return buildPartOf(cast<OpTy>(op), builder, operands, resultTypes);
  }
};

template <typename... Ops> void attachTensorRules(MLIRContext *context) {
  (Ops::template attachInterface<TensorModel<Ops>>(*context), ...);
}
} // namespace

void regather::tg::sharding::registerTensorModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    attachTensorRules<tensor::CollapseShapeOp, tensor::ConcatOp,
                      tensor::EmptyOp, tensor::ExpandShapeOp,
                      tensor::ExtractSliceOp, tensor::InsertSliceOp,
                      tensor::PadOp, tensor::SplatOp>(context);
  });
}
