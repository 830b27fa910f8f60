//===- SharedReductions.cpp - Reductions that threads share ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reduction has two stages. Each thread combines every n-th vector of terms;
// then the partial results of threads are combined, by shuffles within a warp
// and through shared memory between warps. Which terms a thread combines, and
// in which order, depends on the loops, and not on the types of operands nor on
// the number of threads; on where rows lie it depends in so far as a vector is
// as wide as it is for the operation that reads the row again. In an elastic
// step it depends on the loops alone.
//
//===----------------------------------------------------------------------===//

#include "ThreadLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace regather::nvptx;
using utils::IteratorType;

namespace {
class ReductionEmitter {
public:
  ReductionEmitter(linalg::LinalgOp op, ThreadBlock &block)
      : op(op), block(block), b(op.getLoc(), op), point(op, b),
        combiner(findCombiner(op)),
        term(combiner->getOperand(0) == getPrevious() ? 1 : 0),
        points(getResultLoops(op)),
        steps(getLoops(op, IteratorType::reduction)),
        indices(point.getSizes().size()) {}

  void emitByWarps();
  void emitByBlock();
  void emitColumns();

private:
  BlockArgument getPrevious() {
    return op.getMatchingBlockArgument(op.getDpsInitOperand(0));
  }
  Type getType() { return getPrevious().getType(); }
  int64_t countSteps() { return countPoints(point.getSizes(), steps); }
  int64_t countResults() { return countPoints(point.getSizes(), points); }

  Value combine(Value a, Value b);
  Value makeNeutral() {
    return arith::ConstantOp::create(b, *arith::getNeutralElement(combiner));
  }
  /// Combines every `stride`-th vector of terms of the current point from
  /// `first` on.
  Value emitPartial(Value first, int64_t stride);
  /// True if another operation reads the terms again, in a loop so short that
  /// it is unrolled: LLVM then keeps what is read here.
  bool staysInRegisters(int64_t stride);
  /// How many terms follow each other in a vector.
  int64_t getWidth(int64_t stride);
  /// Combines what the lanes of each warp have; all lanes get it.
  Value combineLanes(Value value);
  /// Combines the total with what was there.
  void emitResult(Value total);
  scf::IfOp ifOnly(Value number);
  /// What is built from now on is for the first `count` threads of the block.
  void enterFirstThreads(int64_t count);

  linalg::LinalgOp op;
  ThreadBlock &block;
  ImplicitLocOpBuilder b;
  LoopPoint point;
  Operation *combiner;
  /// The operand of the combiner that is not what was there.
  unsigned term;
  SmallVector<unsigned> points, steps;
  SmallVector<Value> indices;
};
} // namespace

Value ReductionEmitter::combine(Value previous, Value value) {
  OperationState state(b.getLoc(), combiner->getName(), {previous, value},
                       previous.getType(), combiner->getAttrs());
  return b.create(state)->getResult(0);
}

bool ReductionEmitter::staysInRegisters(int64_t stride) {
  // LLVM unrolls loops of up to about 300 instructions.
  constexpr int64_t kMostOperations = 256;
  auto isShort = [&](linalg::LinalgOp other) {
    auto operations =
        static_cast<int64_t>(other.getBlock()->getOperations().size());
    return other.getNumReductionLoops() == 0 &&
           countSteps() / stride * operations <= kMostOperations;
  };
  return llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *read) {
    return llvm::any_of(read->get().getUsers(), [&](Operation *user) {
      auto other = dyn_cast<linalg::LinalgOp>(user);
      return other && other->getBlock() == op->getBlock() &&
             op->isBeforeInBlock(other) && isShort(other);
    });
  });
}

int64_t ReductionEmitter::getWidth(int64_t stride) {
  // In a column, neighbouring points lie side by side in memory, not
  // neighbouring steps.
  if (op.getIteratorTypesArray().back() == IteratorType::parallel)
    return 1;
  // As wide as the operation that reads the row again: its threads then read
  // the elements that they read here.
  int64_t width = LoopPoint::kMaxWidth;
  if (!block.isElastic && staysInRegisters(stride))
    if (int64_t found = point.findWidth(steps.back()); found > 1)
      width = found;
  while (point.getSizes()[steps.back()] % width != 0 ||
         (width > 1 && countSteps() / width < stride))
    width /= 2;
  return width;
}

Value ReductionEmitter::emitPartial(Value first, int64_t stride) {
  SmallVector<int64_t> counts(point.getSizes());
  unsigned inner = steps.back();
  int64_t width = getWidth(stride);
  point.setWidth(inner, width);
  counts[inner] /= width;
  SmallVector<Value> neutral(width, makeNeutral());
  SmallVector<Value> sums = emitStridedLoop(
      b, first, countPoints(counts, steps), stride, neutral,
      [&](Value number, ValueRange previous) {
        delinearize(b, number, counts, steps, indices);
        if (width != 1)
          indices[inner] =
              arith::MulIOp::create(b, indices[inner], point.makeIndex(width));
        SmallVector<Value> next;
        for (auto [sum, body] :
             llvm::zip_equal(previous, point.emitBodies(indices, {}, combiner)))
          next.push_back(
              combine(sum, body.lookupOrDefault(combiner->getOperand(term))));
        return next;
      });
  for (int64_t half = width / 2; half != 0; half /= 2)
    for (int64_t i = 0; i != half; ++i)
      sums[i] = combine(sums[i], sums[i + half]);
  return sums.front();
}

Value ReductionEmitter::combineLanes(Value value) {
  // There are no shuffles of small integers, so they are extended.
  Type type = value.getType();
  bool isSmall = type.isInteger() && type.getIntOrFloatBitWidth() < 32;
  for (int32_t offset = kWarpThreads / 2; offset != 0; offset /= 2) {
    Value sent = value;
    if (isSmall)
      sent = arith::ExtUIOp::create(b, b.getI32Type(), value);
    Value received = gpu::ShuffleOp::create(b, sent, offset, kWarpThreads,
                                            gpu::ShuffleMode::XOR)
                         .getShuffleResult();
    if (isSmall)
      received = arith::TruncIOp::create(b, type, received);
    value = combine(value, received);
  }
  return value;
}

scf::IfOp ReductionEmitter::ifOnly(Value number) {
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, number,
                                        point.makeIndex(0));
  return scf::IfOp::create(b, isFirst, /*withElseRegion=*/false);
}

void ReductionEmitter::enterFirstThreads(int64_t count) {
  if (block.threads <= count)
    return;
  Value takesPart = arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                          block.thread, point.makeIndex(count));
  auto only = scf::IfOp::create(b, takesPart, /*withElseRegion=*/false);
  b.setInsertionPointToStart(only.thenBlock());
}

void ReductionEmitter::emitResult(Value total) {
  for (unsigned step : steps)
    indices[step] = point.makeIndex(0);
  OpOperand &init = *op.getDpsInitOperand(0);
  Value previous = point.emitLoad(init, indices);
  point.emitStore(init, indices, combine(previous, total));
}

void ReductionEmitter::emitByWarps() {
  auto emit = [&](Value number, ValueRange) -> SmallVector<Value> {
    delinearize(b, number, point.getSizes(), points, indices);
    Value total = combineLanes(emitPartial(block.lane, kWarpThreads));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifOnly(block.lane).thenBlock());
    emitResult(total);
    return {};
  };
  emitStridedLoop(b, block.warp, countResults(), block.getWarps(), {}, emit);
}

void ReductionEmitter::emitByBlock() {
  int64_t threads = getRowThreads(op), warps = threads / kWarpThreads;
  Value partials = block.addShared({warps}, getType());
  auto emit = [&](Value number, ValueRange) -> SmallVector<Value> {
    delinearize(b, number, point.getSizes(), points, indices);
    OpBuilder::InsertionGuard guard(b);
    {
      OpBuilder::InsertionGuard inner(b);
      enterFirstThreads(threads);
      Value total = combineLanes(emitPartial(block.thread, threads));
      b.setInsertionPointToStart(ifOnly(block.lane).thenBlock());
      memref::StoreOp::create(b, total, partials, block.warp);
    }
    gpu::BarrierOp::create(b);
    auto first = ifOnly(block.thread);
    b.setInsertionPointToStart(first.thenBlock());
    Value total = memref::LoadOp::create(b, partials, point.makeIndex(0));
    for (int64_t warp = 1; warp != warps; ++warp)
      total = combine(
          total, memref::LoadOp::create(b, partials, point.makeIndex(warp)));
    emitResult(total);
    if (countResults() > 1) {
      // A barrier, since the next point writes to the memory that this one
      // reads.
      b.setInsertionPointAfter(first);
      gpu::BarrierOp::create(b);
    }
    return {};
  };
  emitStridedLoop(b, point.makeIndex(0), countResults(), 1, {}, emit);
}

void ReductionEmitter::emitColumns() {
  constexpr int64_t warps = kColumnThreads / kWarpThreads;
  Value partials = block.addShared({warps, kWarpThreads}, getType());
  int64_t count = countResults();
  int64_t rounds = llvm::divideCeil(count, kWarpThreads);
  auto emit = [&](Value base, ValueRange) -> SmallVector<Value> {
    Value number = arith::AddIOp::create(
        b, arith::MulIOp::create(b, base, point.makeIndex(kWarpThreads)),
        block.lane);
    OpBuilder::InsertionGuard guard(b);
    Value isInside;
    if (count % kWarpThreads != 0) {
      isInside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number,
                                       point.makeIndex(count));
      // Lanes beyond the end compute the first point again, and nobody reads
      // that.
      number = arith::SelectOp::create(b, isInside, number, point.makeIndex(0));
    }
    delinearize(b, number, point.getSizes(), points, indices);
    {
      OpBuilder::InsertionGuard inner(b);
      enterFirstThreads(kColumnThreads);
      memref::StoreOp::create(b, emitPartial(block.warp, warps), partials,
                              ValueRange{block.warp, block.lane});
    }
    gpu::BarrierOp::create(b);
    auto first = ifOnly(block.warp);
    b.setInsertionPointToStart(first.thenBlock());
    if (isInside) {
      auto inside = scf::IfOp::create(b, isInside, /*withElseRegion=*/false);
      b.setInsertionPointToStart(inside.thenBlock());
    }
    Value total;
    for (int64_t warp = 0; warp != warps; ++warp) {
      Value value = memref::LoadOp::create(
          b, partials, ValueRange{point.makeIndex(warp), block.lane});
      total = total ? combine(total, value) : value;
    }
    emitResult(total);
    b.setInsertionPointAfter(first);
    if (rounds > 1)
      gpu::BarrierOp::create(b);
    return {};
  };
  emitStridedLoop(b, point.makeIndex(0), rounds, 1, {}, emit);
}

void regather::nvptx::emitSharedReduction(linalg::LinalgOp op,
                                          Schedule schedule,
                                          ThreadBlock &block) {
  ReductionEmitter emitter(op, block);
  if (schedule == Schedule::PointPerWarp)
    emitter.emitByWarps();
  else if (schedule == Schedule::PointPerBlock)
    emitter.emitByBlock();
  else
    emitter.emitColumns();
}
