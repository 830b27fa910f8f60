//===- LowerLaneReductions.cpp - Loops for reductions in lanes ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Kernels/LaneReduction.h"
#include "regather/Kernel/CPU/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace regather;
using tg::kReductionLanes;
using tg::LaneReduction;

namespace regather::cpu {
#define GEN_PASS_DEF_LOWERLANEREDUCTIONSPASS
#include "regather/Kernel/CPU/Passes.h.inc"
} // namespace regather::cpu

namespace {
class LaneLowering {
public:
  LaneLowering(linalg::LinalgOp op, const LaneReduction &reduction)
      : op(op), reduction(reduction), body(*op.getBlock()),
        sizes(op.getStaticLoopRanges()), b(op.getLoc(), op.getOperation()),
        element(body.getArguments().back().getType()),
        vectorType(VectorType::get(kReductionLanes, element)) {}

  void run();

private:
  bool isVaryingOperand(OpOperand &operand) {
    return op.getMatchingIndexingMap(&operand).isFunctionOfDim(reduction.loop);
  }
  bool isContiguous(OpOperand &operand);
  bool canVectorize();

  SmallVector<Value> getIndices(OpOperand &operand);
  Value load(OpOperand &operand);
  Value makeIndex(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value makeNeutral();
  Value combine(Value previous, Value term);

  Value emitScalarTerm(Value step);
  Value loadLanes(OpOperand &operand, Value step, int64_t count);
  Value makeMask(int64_t count);
  Value emitVectorTerm(Value step, int64_t count);
  Value emitVectorOp(Operation &inner, IRMapping &map);
  Value toVector(Value value);

  Value reduceInVector();
  Value reduceInArray();

  linalg::LinalgOp op;
  LaneReduction reduction;
  Block &body;
  SmallVector<int64_t> sizes;
  ImplicitLocOpBuilder b;
  Type element;
  VectorType vectorType;
  /// Indices of all loops; that of the loop in lanes is null until it is built.
  SmallVector<Value> indices;
};
} // namespace

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

static bool isBoolean(MemRefType type) {
  return type.getElementType().isInteger(1);
}

/// True if consecutive steps read consecutive elements.
bool LaneLowering::isContiguous(OpOperand &operand) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  for (AffineExpr expr : map.getResults().drop_back())
    if (expr.isFunctionOfDim(reduction.loop))
      return false;
  auto dim = dyn_cast<AffineDimExpr>(map.getResults().back());
  auto type = cast<MemRefType>(operand.get().getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  return dim && dim.getPosition() == reduction.loop &&
         type.getElementType().isIntOrFloat() &&
         (isBoolean(type) || type.getElementTypeBitWidth() >= 8) &&
         succeeded(type.getStridesAndOffset(strides, offset)) &&
         strides.back() == 1;
}

SmallVector<Value> LaneLowering::getIndices(OpOperand &operand) {
  SmallVector<OpFoldResult> point(indices.begin(), indices.end());
  AffineMap map = op.getMatchingIndexingMap(&operand);
  SmallVector<Value> result;
  for (AffineExpr expr : map.getResults())
    result.push_back(getValueOrCreateConstantIndexOp(
        b, b.getLoc(),
        affine::makeComposedFoldedAffineApply(
            b, b.getLoc(), AffineMap::get(map.getNumDims(), 0, expr), point)));
  return result;
}

Value LaneLowering::load(OpOperand &operand) {
  if (!isa<MemRefType>(operand.get().getType()))
    return operand.get();
  return memref::LoadOp::create(b, operand.get(), getIndices(operand));
}

/// The elements of `count` steps from `step` on; zeros for the other lanes.
Value LaneLowering::loadLanes(OpOperand &operand, Value step, int64_t count) {
  indices[reduction.loop] = step;
  auto buffer = cast<MemRefType>(operand.get().getType());
  auto type = VectorType::get(kReductionLanes, buffer.getElementType());
  SmallVector<Value> point = getIndices(operand);
  if (count == kReductionLanes)
    return vector::LoadOp::create(b, type, operand.get(), point);
  if (isBoolean(buffer)) {
    // A masked load would take them for bits.
    Value zero = arith::ConstantOp::create(b, b.getBoolAttr(false));
    SmallVector<Value> elements(kReductionLanes, zero);
    Value first = point.back();
    for (int64_t i = 0; i < count; ++i) {
      point.back() = arith::AddIOp::create(b, first, makeIndex(i));
      elements[i] = memref::LoadOp::create(b, operand.get(), point);
    }
    return vector::FromElementsOp::create(b, type, elements);
  }
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
  return vector::MaskedLoadOp::create(b, type, operand.get(), point,
                                      makeMask(count), zero);
}

/// True in the first `count` lanes.
Value LaneLowering::makeMask(int64_t count) {
  SmallVector<bool> isFirst(kReductionLanes, false);
  std::fill_n(isFirst.begin(), count, true);
  auto type = VectorType::get(kReductionLanes, b.getI1Type());
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, isFirst));
}

//===----------------------------------------------------------------------===//
// Terms
//===----------------------------------------------------------------------===//

/// True if everything that differs from step to step can be computed on
/// vectors.
bool LaneLowering::canVectorize() {
  llvm::DenseSet<Value> varying;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    if (!isVaryingOperand(*operand))
      continue;
    if (!isContiguous(*operand))
      return false;
    varying.insert(op.getMatchingBlockArgument(operand));
  }
  for (Operation &inner : body.without_terminator()) {
    auto index = dyn_cast<linalg::IndexOp>(inner);
    bool isVarying = index
                         ? index.getDim() == reduction.loop
                         : llvm::any_of(inner.getOperands(), [&](Value value) {
                             return varying.contains(value);
                           });
    if (&inner == reduction.combiner || !isVarying)
      continue;
    if (!index && (!OpTrait::hasElementwiseMappableTraits(&inner) ||
                   inner.getNumRegions() != 0 || inner.getNumResults() != 1))
      return false;
    varying.insert(inner.getResults().begin(), inner.getResults().end());
  }
  return true;
}

/// The term of the current step.
Value LaneLowering::emitScalarTerm(Value step) {
  indices[reduction.loop] = step;
  IRMapping map;
  for (OpOperand *operand : op.getDpsInputOperands())
    map.map(op.getMatchingBlockArgument(operand), load(*operand));
  for (Operation &inner : body.without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner))
      map.map(index.getResult(), indices[index.getDim()]);
    else if (&inner != reduction.combiner)
      b.clone(inner, map);
  }
  return map.lookupOrDefault(reduction.combiner->getOperand(reduction.term));
}

Value LaneLowering::toVector(Value value) {
  if (isa<VectorType>(value.getType()))
    return value;
  return vector::BroadcastOp::create(
      b, VectorType::get(kReductionLanes, value.getType()), value);
}

/// A copy of `inner`, on vectors if one of its operands is one.
Value LaneLowering::emitVectorOp(Operation &inner, IRMapping &map) {
  auto operands = llvm::map_to_vector(inner.getOperands(), [&](Value value) {
    return map.lookupOrDefault(value);
  });
  auto isVector = [](Value value) { return isa<VectorType>(value.getType()); };
  if (llvm::none_of(operands, isVector))
    return b.clone(inner, map)->getResult(0);
  for (Value &operand : operands)
    operand = toVector(operand);
  Type type = VectorType::get(kReductionLanes, inner.getResult(0).getType());
  OperationState state(inner.getLoc(), inner.getName(), operands, type,
                       inner.getAttrs());
  return b.create(state)->getResult(0);
}

/// The terms of the steps from `step` on, of which `count` are read.
Value LaneLowering::emitVectorTerm(Value step, int64_t count) {
  indices[reduction.loop] = step;
  IRMapping map;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(operand);
    if (!isVaryingOperand(*operand)) {
      map.map(argument, load(*operand));
      continue;
    }
    map.map(argument, loadLanes(*operand, step, count));
  }
  for (Operation &inner : body.without_terminator()) {
    if (&inner == reduction.combiner)
      continue;
    auto index = dyn_cast<linalg::IndexOp>(inner);
    if (!index) {
      map.map(inner.getResult(0), emitVectorOp(inner, map));
      continue;
    }
    Value value = indices[index.getDim()];
    if (index.getDim() == reduction.loop)
      value = arith::AddIOp::create(
          b, toVector(value),
          vector::StepOp::create(
              b, VectorType::get(kReductionLanes, b.getIndexType())));
    map.map(index.getResult(), value);
  }
  return toVector(
      map.lookupOrDefault(reduction.combiner->getOperand(reduction.term)));
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// The neutral element that lanes start from.
Value LaneLowering::makeNeutral() {
  const llvm::fltSemantics &semantics =
      cast<FloatType>(element).getFloatSemantics();
  llvm::APFloat number =
      isa<arith::AddFOp>(reduction.combiner)
          ? llvm::APFloat::getZero(semantics)
          : llvm::APFloat::getInf(semantics,
                                  isa<arith::MaximumFOp>(reduction.combiner));
  return arith::ConstantOp::create(b, b.getFloatAttr(element, number));
}

Value LaneLowering::combine(Value previous, Value term) {
  OperationState state(b.getLoc(), reduction.combiner->getName(),
                       {previous, term}, previous.getType(),
                       reduction.combiner->getAttrs());
  return b.create(state)->getResult(0);
}

Value LaneLowering::reduceInVector() {
  int64_t size = sizes[reduction.loop], rest = size % kReductionLanes;
  auto loop = scf::ForOp::create(b, makeIndex(0), makeIndex(size - rest),
                                 makeIndex(kReductionLanes),
                                 ValueRange(toVector(makeNeutral())));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value term = emitVectorTerm(loop.getInductionVar(), kReductionLanes);
    scf::YieldOp::create(b, combine(loop.getRegionIterArg(0), term));
  }
  Value lanes = loop.getResult(0);
  if (rest != 0) {
    Value term = emitVectorTerm(makeIndex(size - rest), rest);
    lanes =
        arith::SelectOp::create(b, makeMask(rest), combine(lanes, term), lanes);
  }
  for (int64_t width = kReductionLanes / 2; width != 0; width /= 2) {
    auto slice = [&](int64_t offset) -> Value {
      return vector::ExtractStridedSliceOp::create(
          b, lanes, ArrayRef{offset}, ArrayRef{width}, ArrayRef<int64_t>{1});
    };
    lanes = combine(slice(0), slice(width));
  }
  return vector::ExtractOp::create(b, lanes, ArrayRef<int64_t>{0});
}

Value LaneLowering::reduceInArray() {
  Value lanes;
  {
    OpBuilder::InsertionGuard guard(b);
    auto func = op->getParentOfType<func::FuncOp>();
    b.setInsertionPointToStart(&func.getBody().front());
    lanes =
        memref::AllocaOp::create(b, MemRefType::get(kReductionLanes, element));
  }
  Value zero = makeIndex(0), one = makeIndex(1);
  Value count = makeIndex(kReductionLanes);
  Value neutral = makeNeutral();
  auto start = scf::ForOp::create(b, zero, count, one);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(start.getBody());
    memref::StoreOp::create(b, neutral, lanes, start.getInductionVar());
  }
  auto loop =
      scf::ForOp::create(b, zero, makeIndex(sizes[reduction.loop]), one);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value step = loop.getInductionVar();
    Value lane = arith::RemUIOp::create(b, step, count);
    Value term = emitScalarTerm(step);
    Value sum = combine(memref::LoadOp::create(b, lanes, lane), term);
    memref::StoreOp::create(b, sum, lanes, lane);
  }
  SmallVector<Value> values;
  for (int64_t lane = 0; lane != kReductionLanes; ++lane)
    values.push_back(memref::LoadOp::create(b, lanes, makeIndex(lane)));
  for (int64_t width = kReductionLanes / 2; width != 0; width /= 2)
    for (int64_t lane = 0; lane != width; ++lane)
      values[lane] = combine(values[lane], values[lane + width]);
  return values.front();
}

void LaneLowering::run() {
  bool inVector = canVectorize();
  indices.resize(sizes.size());
  for (auto [number, size] : llvm::enumerate(sizes)) {
    if (number == reduction.loop)
      continue;
    auto loop =
        scf::ForOp::create(b, makeIndex(0), makeIndex(size), makeIndex(1));
    indices[number] = loop.getInductionVar();
    b.setInsertionPointToStart(loop.getBody());
  }
  Value total = inVector ? reduceInVector() : reduceInArray();
  OpOperand &init = *op.getDpsInitOperand(0);
  // The place of the result does not depend on the step.
  indices[reduction.loop] = makeIndex(0);
  SmallVector<Value> place = getIndices(init);
  Value previous = memref::LoadOp::create(b, init.get(), place);
  memref::StoreOp::create(b, combine(previous, total), init.get(), place);
  op.erase();
}

namespace {
class LowerLaneReductionsPass
    : public cpu::impl::LowerLaneReductionsPassBase<LowerLaneReductionsPass> {
public:
  using LowerLaneReductionsPassBase::LowerLaneReductionsPassBase;

  void runOnOperation() override {
    SmallVector<std::pair<linalg::LinalgOp, LaneReduction>> found;
    getOperation().walk([&](linalg::LinalgOp op) {
      if (std::optional<LaneReduction> reduction = tg::matchLaneReduction(op))
        found.push_back({op, *reduction});
    });
    for (auto &[op, reduction] : found)
      LaneLowering(op, reduction).run();
    numReductions += found.size();
  }
};
} // namespace
