//===- TransposeTiles.cpp - Transposes through shared memory --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace regather::nvptx;

// One row of a tile for each warp at a time. A warp reads a row of the operand
// and writes, after a barrier, a row of the result:
//
//   for tile of 32 x 32 points:
//     for row of warp: shared[row][lane] = operand[... row, lane]
//     barrier
//     for row of warp: result[... row, lane] = f(shared[lane][row], ...)
//     barrier
//
// If tiles do not divide the loops, the last tiles skip what lies beyond the
// end.

namespace {
class TransposeEmitter {
public:
  TransposeEmitter(linalg::LinalgOp op, OpOperand &operand, ThreadBlock &block)
      : op(op), operand(operand), block(block), b(op.getLoc(), op),
        point(op, b), loops(getResultLoops(op)), writeLoop(loops.back()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    readLoop = map.getDimPosition(map.getNumResults() - 1);
  }

  void emit();

private:
  static constexpr int64_t kEdge = kWarpThreads;

  /// Builds `body` for the rows of a warp: the points with `row` along
  /// `rowLoop` and the lane along `laneLoop`, as far as there are any.
  void emitRows(ArrayRef<Value> origin, unsigned rowLoop, unsigned laneLoop,
                function_ref<void(Value, ArrayRef<Value>)> body);

  linalg::LinalgOp op;
  OpOperand &operand;
  ThreadBlock &block;
  ImplicitLocOpBuilder b;
  LoopPoint point;
  SmallVector<unsigned> loops;
  unsigned writeLoop, readLoop;
};
} // namespace

void TransposeEmitter::emitRows(
    ArrayRef<Value> origin, unsigned rowLoop, unsigned laneLoop,
    function_ref<void(Value, ArrayRef<Value>)> body) {
  emitStridedLoop(
      b, block.warp, kEdge, block.getWarps(), {},
      [&](Value row, ValueRange) -> SmallVector<Value> {
        SmallVector<Value> indices(origin);
        indices[rowLoop] = arith::AddIOp::create(b, origin[rowLoop], row);
        indices[laneLoop] =
            arith::AddIOp::create(b, origin[laneLoop], block.lane);
        OpBuilder::InsertionGuard guard(b);
        for (unsigned loop : {rowLoop, laneLoop}) {
          int64_t size = point.getSizes()[loop];
          if (size % kEdge == 0)
            continue;
          Value isInside =
              arith::CmpIOp::create(b, arith::CmpIPredicate::ult, indices[loop],
                                    point.makeIndex(size));
          auto inside =
              scf::IfOp::create(b, isInside, /*withElseRegion=*/false);
          b.setInsertionPointToStart(inside.thenBlock());
        }
        body(row, indices);
        return {};
      });
}

void TransposeEmitter::emit() {
  SmallVector<int64_t> tiles(point.getSizes());
  for (unsigned loop : {readLoop, writeLoop})
    tiles[loop] = static_cast<int64_t>(llvm::divideCeil(tiles[loop], kEdge));
  Type element = cast<MemRefType>(operand.get().getType()).getElementType();
  // With rows of kEdge elements, all lanes of a column would be in one bank.
  Value tile = block.addShared({kEdge, kEdge + 1}, element);
  auto emitTile = [&](Value number, ValueRange) -> SmallVector<Value> {
    SmallVector<Value> origin(tiles.size());
    delinearize(b, number, tiles, loops, origin);
    for (unsigned loop : {readLoop, writeLoop})
      origin[loop] =
          arith::MulIOp::create(b, origin[loop], point.makeIndex(kEdge));
    emitRows(origin, writeLoop, readLoop,
             [&](Value row, ArrayRef<Value> indices) {
               memref::StoreOp::create(b, point.emitLoad(operand, indices),
                                       tile, ValueRange{row, block.lane});
             });
    gpu::BarrierOp::create(b);
    emitRows(origin, readLoop, writeLoop,
             [&](Value row, ArrayRef<Value> indices) {
               Value value =
                   memref::LoadOp::create(b, tile, ValueRange{block.lane, row});
               SmallVector<IRMapping> bodies =
                   point.emitBodies(indices, {}, nullptr, {&operand, value});
               point.emitStores(indices, bodies);
             });
    gpu::BarrierOp::create(b);
    return {};
  };
  emitStridedLoop(b, point.makeIndex(0), countPoints(tiles, loops), 1, {},
                  emitTile);
}

void regather::nvptx::emitTranspose(linalg::LinalgOp op, ThreadBlock &block) {
  TransposeEmitter(op, *findTransposedOperand(op), block).emit();
}
