//===- LoopPoint.cpp - What an operation computes at a point --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopPoint.h"

#include "KnownAlignment.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace regather::nvptx;

/// Bytes of the widest access.
static constexpr int64_t kLoadBytes = 16;

/// Bytes of an element in memory; 0 if it cannot be part of a vector there.
static int64_t getBufferElementBytes(Value buffer) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8 != 0)
    return 0;
  return element.getIntOrFloatBitWidth() / 8;
}

Value LoopPoint::makeIndex(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

//===----------------------------------------------------------------------===//
// Width
//===----------------------------------------------------------------------===//

/// True if consecutive points of `loop` use consecutive elements, at addresses
/// that suit vectors of any power of two elements up to 16 bytes that divides
/// the loop.
bool LoopPoint::isContiguous(OpOperand &operand, unsigned loop) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  if (!type || map.getNumResults() == 0 ||
      getBufferElementBytes(operand.get()) == 0)
    return false;
  auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!last || last.getPosition() != loop ||
      llvm::any_of(
          map.getResults().drop_back(),
          [&](AffineExpr expr) { return expr.isFunctionOfDim(loop); }) ||
      failed(type.getStridesAndOffset(strides, offset)))
    return false;
  return strides.back() == 1;
}

/// True if the operand is accessed with vectors at the current width.
bool LoopPoint::isWide(OpOperand &operand) {
  if (width == 1 || !isContiguous(operand, wideLoop))
    return false;
  auto type = cast<MemRefType>(operand.get().getType());
  int64_t bytes = getBufferElementBytes(operand.get());
  int64_t alignment = std::min(width * bytes, kLoadBytes);
  SmallVector<int64_t> strides;
  int64_t offset;
  (void)type.getStridesAndOffset(strides, offset);
  // The stride of a dimension with one element does not matter.
  for (auto [stride, size] : llvm::zip(strides, type.getShape().drop_back()))
    if (size != 1 &&
        (ShapedType::isDynamic(stride) || stride * bytes % alignment != 0))
      return false;
  return getKnownAlignment(operand.get()) % alignment == 0;
}

int64_t LoopPoint::findWidth(unsigned loop) {
  int64_t widest = 1;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()) ||
        !isContiguous(operand, loop))
      continue;
    widest =
        std::max(widest, kLoadBytes / getBufferElementBytes(operand.get()));
  }
  int64_t found = std::min(widest, kMaxWidth);
  while (found > 1 && sizes[loop] % found != 0)
    found /= 2;
  return found;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

SmallVector<Value> LoopPoint::getPlace(OpOperand &operand,
                                       ArrayRef<Value> indices) {
  SmallVector<OpFoldResult> point(indices.begin(), indices.end());
  AffineMap map = op.getMatchingIndexingMap(&operand);
  SmallVector<Value> place;
  for (AffineExpr expr : map.getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      place.push_back(indices[dim.getPosition()]);
      continue;
    }
    place.push_back(getValueOrCreateConstantIndexOp(
        b, b.getLoc(),
        affine::makeComposedFoldedAffineApply(
            b, b.getLoc(), AffineMap::get(map.getNumDims(), 0, expr), point)));
  }
  return place;
}

Value LoopPoint::emitLoad(OpOperand &operand, ArrayRef<Value> indices) {
  if (!isa<MemRefType>(operand.get().getType()))
    return operand.get();
  return memref::LoadOp::create(b, operand.get(), getPlace(operand, indices));
}

void LoopPoint::emitStore(OpOperand &operand, ArrayRef<Value> indices,
                          Value value) {
  memref::StoreOp::create(b, value, operand.get(), getPlace(operand, indices));
}

SmallVector<Value> LoopPoint::shift(ArrayRef<Value> indices, int64_t steps) {
  SmallVector<Value> shifted(indices);
  if (steps != 0)
    shifted[wideLoop] =
        arith::AddIOp::create(b, indices[wideLoop], makeIndex(steps));
  return shifted;
}

static llvm::MaybeAlign getAccessAlignment(int64_t bytes) {
  return llvm::MaybeAlign(std::min(bytes, kLoadBytes));
}

SmallVector<Value> LoopPoint::emitWideLoad(OpOperand &operand,
                                           ArrayRef<Value> indices) {
  auto type = cast<MemRefType>(operand.get().getType());
  int64_t bytes = width * getBufferElementBytes(operand.get());
  Value vector =
      vector::LoadOp::create(b, VectorType::get(width, type.getElementType()),
                             operand.get(), getPlace(operand, indices),
                             /*nontemporal=*/false, getAccessAlignment(bytes));
  SmallVector<Value> elements;
  for (int64_t i = 0; i != width; ++i)
    elements.push_back(vector::ExtractOp::create(b, vector, i));
  return elements;
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

SmallVector<IRMapping>
LoopPoint::emitBodies(ArrayRef<Value> indices, ValueRange carried,
                      Operation *skipped, std::pair<OpOperand *, Value> known) {
  SmallVector<IRMapping> maps(width);
  SmallVector<SmallVector<Value>> points;
  for (int64_t i = 0; i != width; ++i)
    points.push_back(shift(indices, i));
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(&operand);
    if (op.isDpsInit(&operand)) {
      unsigned number = operand.getOperandNumber() - op.getNumDpsInputs();
      if (!carried.empty()) {
        for (IRMapping &map : maps)
          map.map(argument, carried[number]);
        continue;
      }
      if (skipped || argument.use_empty())
        continue;
    }
    // The operand may only give the loops their sizes.
    if (argument.use_empty())
      continue;
    if (&operand == known.first) {
      maps.front().map(argument, known.second);
      continue;
    }
    if (isWide(operand)) {
      for (auto [map, element] :
           llvm::zip_equal(maps, emitWideLoad(operand, indices)))
        map.map(argument, element);
      continue;
    }
    bool isVarying =
        isa<MemRefType>(operand.get().getType()) &&
        op.getMatchingIndexingMap(&operand).isFunctionOfDim(wideLoop);
    Value first = emitLoad(operand, points[0]);
    for (auto [map, point] : llvm::zip_equal(maps, points))
      map.map(argument, &map == maps.begin() || !isVarying
                            ? first
                            : emitLoad(operand, point));
  }
  for (auto index : op.getBlock()->getOps<linalg::IndexOp>())
    for (auto [map, point] : llvm::zip_equal(maps, points))
      map.map(index.getResult(), point[index.getDim()]);
  if (!op.getBlock()->getOps<scf::ForOp>().empty()) {
    cloneTogether(*op.getBlock(), maps, skipped);
    return maps;
  }
  for (IRMapping &map : maps)
    for (Operation &inner : op.getBlock()->without_terminator())
      if (!isa<linalg::IndexOp>(inner) && &inner != skipped)
        b.clone(inner, map);
  return maps;
}

/// True if the values are the same at all points.
static bool areSame(ArrayRef<Value> values, ArrayRef<IRMapping> maps) {
  return llvm::all_of(values, [&](Value value) {
    return llvm::all_of(maps, [&](const IRMapping &map) {
      return map.lookupOrDefault(value) == maps.front().lookupOrDefault(value);
    });
  });
}

/// True if the operation, which writes no memory, does the same at all points.
static bool isSame(Operation &inner, ArrayRef<IRMapping> maps) {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(inner.getRegions(), used);
  used.insert_range(inner.getOperands());
  return areSame(used.getArrayRef(), maps);
}

static bool isSameRange(scf::ForOp loop, ArrayRef<IRMapping> maps) {
  return areSame({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()},
                 maps);
}

void LoopPoint::cloneTogether(Block &block, MutableArrayRef<IRMapping> maps,
                              Operation *skipped) {
  for (Operation &inner : block.without_terminator()) {
    auto loop = dyn_cast<scf::ForOp>(inner);
    if (isa<linalg::IndexOp>(inner) || &inner == skipped)
      continue;
    if (isSame(inner, maps)) {
      Operation *copy = b.clone(inner, maps.front());
      for (IRMapping &map : maps.drop_front())
        map.map(inner.getResults(), copy->getResults());
    } else if (loop && isSameRange(loop, maps)) {
      cloneLoopTogether(loop, maps);
    } else {
      for (IRMapping &map : maps)
        b.clone(inner, map);
    }
  }
}

void LoopPoint::cloneLoopTogether(scf::ForOp loop,
                                  MutableArrayRef<IRMapping> maps) {
  auto lookUp = [](ValueRange values, ArrayRef<IRMapping> maps) {
    SmallVector<Value> found;
    for (const IRMapping &map : maps)
      for (Value value : values)
        found.push_back(map.lookupOrDefault(value));
    return found;
  };
  IRMapping &first = maps.front();
  auto made = scf::ForOp::create(b, first.lookupOrDefault(loop.getLowerBound()),
                                 first.lookupOrDefault(loop.getUpperBound()),
                                 first.lookupOrDefault(loop.getStep()),
                                 lookUp(loop.getInitArgs(), maps));
  size_t count = loop.getNumResults();
  for (auto [number, map] : llvm::enumerate(maps)) {
    map.map(loop.getInductionVar(), made.getInductionVar());
    map.map(loop.getRegionIterArgs(),
            made.getRegionIterArgs().slice(number * count, count));
    map.map(loop.getResults(), made.getResults().slice(number * count, count));
  }
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(made.getBody());
  cloneTogether(*loop.getBody(), maps, /*skipped=*/nullptr);
  if (count != 0)
    scf::YieldOp::create(
        b, lookUp(loop.getBody()->getTerminator()->getOperands(), maps));
}

void LoopPoint::emitStores(ArrayRef<Value> indices,
                           ArrayRef<IRMapping> bodies) {
  Operation *yield = op.getBlock()->getTerminator();
  for (auto [operand, value] :
       llvm::zip_equal(op.getDpsInitsMutable(), yield->getOperands())) {
    auto values =
        llvm::map_to_vector(bodies, [&, value = value](const IRMapping &map) {
          return map.lookupOrDefault(value);
        });
    if (!isWide(operand)) {
      for (auto [i, element] : llvm::enumerate(values))
        emitStore(operand, shift(indices, static_cast<int64_t>(i)), element);
      continue;
    }
    int64_t bytes = width * getBufferElementBytes(operand.get());
    Value vector = vector::FromElementsOp::create(
        b, VectorType::get(width, values[0].getType()), values);
    vector::StoreOp::create(b, vector, operand.get(),
                            getPlace(operand, indices), /*nontemporal=*/false,
                            getAccessAlignment(bytes));
  }
}
