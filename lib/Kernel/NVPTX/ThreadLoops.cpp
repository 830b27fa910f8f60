//===- ThreadLoops.cpp - Operations on the threads of a block -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadLoops.h"

#include "KnownAlignment.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace regather::nvptx;
using utils::IteratorType;

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

SmallVector<unsigned> regather::nvptx::getLoops(linalg::LinalgOp op,
                                                IteratorType kind) {
  SmallVector<unsigned> loops;
  for (auto [number, type] : llvm::enumerate(op.getIteratorTypesArray()))
    if (type == kind)
      loops.push_back(number);
  return loops;
}

SmallVector<unsigned> regather::nvptx::getResultLoops(linalg::LinalgOp op) {
  SmallVector<unsigned> loops = getLoops(op, IteratorType::parallel);
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  SmallVector<unsigned> ordered;
  for (AffineExpr expr : map.getResults())
    if (auto dim = dyn_cast<AffineDimExpr>(expr);
        dim && !llvm::is_contained(ordered, dim.getPosition()))
      ordered.push_back(dim.getPosition());
  return ordered.size() == loops.size() ? ordered : loops;
}

int64_t regather::nvptx::countPoints(ArrayRef<int64_t> sizes,
                                     ArrayRef<unsigned> loops) {
  int64_t count = 1;
  for (unsigned loop : loops)
    count *= sizes[loop];
  return count;
}

void regather::nvptx::delinearize(ImplicitLocOpBuilder &b, Value number,
                                  ArrayRef<int64_t> sizes,
                                  ArrayRef<unsigned> loops,
                                  MutableArrayRef<Value> indices) {
  auto makeIndex = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, value);
  };
  SmallVector<unsigned> moving;
  for (unsigned loop : loops) {
    if (sizes[loop] == 1)
      indices[loop] = makeIndex(0);
    else
      moving.push_back(loop);
  }
  for (size_t i = moving.size(); i-- != 0;) {
    unsigned loop = moving[i];
    indices[loop] = number;
    if (i == 0)
      break;
    Value size = makeIndex(sizes[loop]);
    indices[loop] = arith::RemUIOp::create(b, number, size);
    number = arith::DivUIOp::create(b, number, size);
  }
}

SmallVector<Value> regather::nvptx::emitStridedLoop(
    ImplicitLocOpBuilder &b, Value first, int64_t count, int64_t step,
    ValueRange carried,
    function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto makeIndex = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, value);
  };
  if (count == step)
    return body(first, carried);
  bool isEven = count % step == 0;
  auto loop = scf::ForOp::create(b, isEven ? makeIndex(0) : first,
                                 makeIndex(count), makeIndex(step), carried);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value number = loop.getInductionVar();
  if (isEven)
    number = arith::AddIOp::create(b, number, first);
  SmallVector<Value> next = body(number, loop.getRegionIterArgs());
  // A loop without carried values has a terminator already.
  if (!carried.empty())
    scf::YieldOp::create(b, next);
  return llvm::to_vector_of<Value>(loop.getResults());
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

/// Steps of a reduction from which it is shared.
static constexpr int64_t kMinSharedSteps = kWarpThreads;

/// Steps from which all warps of a block share a reduction.
static constexpr int64_t kMinBlockSteps = 1024;

/// Threads of a row, and of a long row: eight long rows for each multiprocessor
/// (64 KiB each in f32) would not fit into the cache.
static constexpr int64_t kRowThreads = 256;
static constexpr int64_t kLongRowThreads = 1024;
static constexpr int64_t kMinLongSteps = 16 * 1024;

int64_t regather::nvptx::getRowThreads(linalg::LinalgOp op) {
  int64_t steps = countPoints(op.getStaticLoopRanges(),
                              getLoops(op, IteratorType::reduction));
  return steps < kMinLongSteps ? kRowThreads : kLongRowThreads;
}

Operation *regather::nvptx::findCombiner(linalg::LinalgOp op) {
  if (op.getNumDpsInits() != 1)
    return nullptr;
  BlockArgument previous = op.getMatchingBlockArgument(op.getDpsInitOperand(0));
  Operation *combiner =
      op.getBlock()->getTerminator()->getOperand(0).getDefiningOp();
  if (!combiner || !previous.hasOneUse() ||
      *previous.getUsers().begin() != combiner || !combiner->hasOneUse() ||
      combiner->getNumOperands() != 2 || combiner->getNumRegions() != 0)
    return nullptr;
  Type type = previous.getType();
  // The types that shuffles can carry.
  if (!type.isF32() && !type.isF64() &&
      !(type.isInteger() && type.getIntOrFloatBitWidth() <= 64))
    return nullptr;
  return arith::getNeutralElement(combiner) ? combiner : nullptr;
}

/// True if no operand has an element for each step of each point, as in a
/// GEMM, where operands lie along different loops.
static bool isContraction(linalg::LinalgOp op) {
  return llvm::none_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    return llvm::all_of(llvm::seq(0u, op.getNumLoops()), [&](unsigned loop) {
      return map.isFunctionOfDim(loop);
    });
  });
}

/// Fewest rows and columns that are worth the tiles of a transpose.
static constexpr int64_t kMinTransposed = kWarpThreads / 2;

OpOperand *regather::nvptx::findTransposedOperand(linalg::LinalgOp op) {
  if (op.getNumParallelLoops() != op.getNumLoops())
    return nullptr;
  SmallVector<unsigned> loops = getResultLoops(op);
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  if (loops.empty() || sizes[loops.back()] < kMinTransposed)
    return nullptr;
  OpOperand *found = nullptr;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    if (!isa<MemRefType>(operand->get().getType()) ||
        !map.isProjectedPermutation() || map.getNumResults() == 0)
      continue;
    unsigned last = map.getDimPosition(map.getNumResults() - 1);
    if (last == loops.back() || !map.isFunctionOfDim(loops.back()) ||
        sizes[last] < kMinTransposed)
      continue;
    // More than one such operand would take too much shared memory.
    if (found)
      return nullptr;
    found = operand;
  }
  return found;
}

Schedule regather::nvptx::chooseSchedule(linalg::LinalgOp op) {
  SmallVector<unsigned> steps = getLoops(op, IteratorType::reduction);
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  if (steps.empty())
    return findTransposedOperand(op) ? Schedule::Transpose
                                     : Schedule::PointPerThread;
  int64_t numSteps = countPoints(sizes, steps);
  if (numSteps < kMinSharedSteps || !findCombiner(op) || isContraction(op))
    return Schedule::PointPerThread;
  if (op.getIteratorTypesArray().back() == IteratorType::parallel)
    return Schedule::ColumnPerLane;
  return numSteps < kMinBlockSteps ? Schedule::PointPerWarp
                                   : Schedule::PointPerBlock;
}

/// Groups of consecutive points that one thread computes.
static int64_t countPointGroups(linalg::LinalgOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op.getContext());
  SmallVector<unsigned> loops = getResultLoops(op);
  int64_t points = countPoints(op.getStaticLoopRanges(), loops);
  if (loops.empty() || points == 0 || op.getNumReductionLoops() != 0)
    return points;
  return points / LoopPoint(op, b).findWidth(loops.back());
}

ResultOwner regather::nvptx::getResultOwner(linalg::LinalgOp op) {
  switch (chooseSchedule(op)) {
  case Schedule::PointPerThread:
    return countPointGroups(op) == 1 ? ResultOwner::FirstThreadAlone
                                     : ResultOwner::AllThreads;
  case Schedule::PointPerWarp:
    return countPointGroups(op) == 1 ? ResultOwner::FirstThread
                                     : ResultOwner::AllThreads;
  case Schedule::PointPerBlock:
    return ResultOwner::FirstThread;
  case Schedule::ColumnPerLane:
  case Schedule::Transpose:
    return ResultOwner::AllThreads;
  }
  llvm_unreachable("unknown schedule");
}

int64_t regather::nvptx::getUsefulThreads(linalg::LinalgOp op) {
  int64_t points = countPointGroups(op);
  auto limit = [](int64_t threads, int64_t most) {
    return std::clamp(
        static_cast<int64_t>(llvm::PowerOf2Ceil(
            static_cast<uint64_t>(std::max<int64_t>(threads, 1)))),
        kWarpThreads, most);
  };
  switch (chooseSchedule(op)) {
  case Schedule::PointPerThread:
    return limit(points, kMaxThreads);
  case Schedule::PointPerWarp:
    return limit(points * kWarpThreads, kMaxThreads);
  case Schedule::PointPerBlock:
    return getRowThreads(op);
  case Schedule::Transpose:
    return kMaxThreads;
  case Schedule::ColumnPerLane:
    return kColumnThreads;
  }
  llvm_unreachable("unknown schedule");
}

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

Value ThreadBlock::addShared(ArrayRef<int64_t> shape, Type element) {
  auto space = gpu::AddressSpaceAttr::get(func.getContext(),
                                          gpu::AddressSpace::Workgroup);
  Value memory = func.addWorkgroupAttribution(
      MemRefType::get(shape, element, MemRefLayoutAttrInterface(), space),
      func.getLoc());
  // What getKnownAlignment says of all that a function is given. Without it,
  // such memory is aligned to its elements, and follows other memory.
  func.setWorkgroupAttributionAttr(
      func.getNumWorkgroupAttributions() - 1,
      LLVM::LLVMDialect::getAlignAttrName(),
      IntegerAttr::get(IntegerType::get(func.getContext(), 64),
                       nvptx::kBufferAlignment));
  return memory;
}

/// A point whose reduction, if it has one, runs in the order of its steps.
static void emitPoint(linalg::LinalgOp op, LoopPoint &point,
                      ImplicitLocOpBuilder &b, SmallVector<Value> indices) {
  SmallVector<unsigned> steps = getLoops(op, IteratorType::reduction);
  if (steps.empty()) {
    SmallVector<IRMapping> bodies = point.emitBodies(indices);
    point.emitStores(indices, bodies);
    return;
  }
  // The place of a result does not depend on the step.
  SmallVector<Value> place = indices;
  for (unsigned step : steps)
    place[step] = point.makeIndex(0);
  SmallVector<Value> values;
  for (OpOperand &init : op.getDpsInitsMutable())
    values.push_back(point.emitLoad(init, place));
  SmallVector<scf::ForOp> loops;
  for (unsigned step : steps) {
    auto loop = scf::ForOp::create(b, point.makeIndex(0),
                                   point.makeIndex(point.getSizes()[step]),
                                   point.makeIndex(1), values);
    if (!loops.empty())
      scf::YieldOp::create(b, loop.getResults());
    loops.push_back(loop);
    indices[step] = loop.getInductionVar();
    values = llvm::to_vector_of<Value>(loop.getRegionIterArgs());
    b.setInsertionPointToStart(loop.getBody());
  }
  IRMapping body = point.emitBodies(indices, values).front();
  auto results = llvm::map_to_vector(
      op.getBlock()->getTerminator()->getOperands(),
      [&](Value value) { return body.lookupOrDefault(value); });
  scf::YieldOp::create(b, results);
  b.setInsertionPointAfter(loops.front());
  for (auto [init, value] :
       llvm::zip_equal(op.getDpsInitsMutable(), loops.front().getResults()))
    point.emitStore(init, place, value);
}

static void emitPointPerThread(linalg::LinalgOp op, ThreadBlock &block) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  LoopPoint point(op, b);
  SmallVector<int64_t> counts(point.getSizes());
  SmallVector<unsigned> loops = getResultLoops(op);
  int64_t width = 1;
  if (!loops.empty() && op.getNumReductionLoops() == 0) {
    width = point.findWidth(loops.back());
    point.setWidth(loops.back(), width);
    counts[loops.back()] /= width;
  }
  auto emit = [&](Value number, ValueRange) -> SmallVector<Value> {
    SmallVector<Value> indices(counts.size());
    delinearize(b, number, counts, loops, indices);
    if (width != 1)
      indices[loops.back()] = arith::MulIOp::create(b, indices[loops.back()],
                                                    point.makeIndex(width));
    emitPoint(op, point, b, indices);
    return {};
  };
  emitStridedLoop(b, block.thread, countPoints(counts, loops), block.threads,
                  {}, emit);
}

void regather::nvptx::emitThreadLoops(linalg::LinalgOp op, ThreadBlock &block) {
  if (llvm::is_contained(op.getStaticLoopRanges(), 0)) {
    op.erase();
    return;
  }
  switch (Schedule schedule = chooseSchedule(op)) {
  case Schedule::PointPerThread:
    emitPointPerThread(op, block);
    break;
  case Schedule::Transpose:
    emitTranspose(op, block);
    break;
  case Schedule::PointPerWarp:
  case Schedule::PointPerBlock:
  case Schedule::ColumnPerLane:
    emitSharedReduction(op, schedule, block);
    break;
  }
  op.erase();
}
