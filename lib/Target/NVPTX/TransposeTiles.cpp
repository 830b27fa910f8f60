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

void regather::nvptx::emitTranspose(linalg::LinalgOp op, ThreadBlock &block) {
  constexpr int64_t edge = kWarpThreads;
  OpOperand &operand = *findTransposedOperand(op);
  ImplicitLocOpBuilder b(op.getLoc(), op);
  LoopPoint point(op, b);
  AffineMap map = op.getMatchingIndexingMap(&operand);
  SmallVector<unsigned> loops = getResultLoops(op);
  unsigned writeLoop = loops.back();
  unsigned readLoop = map.getDimPosition(map.getNumResults() - 1);
  SmallVector<int64_t> tiles(point.getSizes());
  tiles[writeLoop] /= edge;
  tiles[readLoop] /= edge;
  Type element = cast<MemRefType>(operand.get().getType()).getElementType();
  // With another row length, lanes of a column would share one bank.
  Value tile = block.addShared({edge, edge + 1}, element);

  auto emitTile = [&](Value number, ValueRange) -> SmallVector<Value> {
    SmallVector<Value> origin(tiles.size());
    delinearize(b, number, tiles, loops, origin);
    for (unsigned loop : {readLoop, writeLoop})
      origin[loop] =
          arith::MulIOp::create(b, origin[loop], point.makeIndex(edge));
    auto getPoint = [&](unsigned rowLoop, Value row, unsigned laneLoop) {
      SmallVector<Value> indices = origin;
      indices[rowLoop] = arith::AddIOp::create(b, origin[rowLoop], row);
      indices[laneLoop] =
          arith::AddIOp::create(b, origin[laneLoop], block.lane);
      return indices;
    };
    emitStridedLoop(
        b, block.warp, edge, block.getWarps(), {},
        [&](Value row, ValueRange) -> SmallVector<Value> {
          Value value =
              point.emitLoad(operand, getPoint(writeLoop, row, readLoop));
          memref::StoreOp::create(b, value, tile, ValueRange{row, block.lane});
          return {};
        });
    gpu::BarrierOp::create(b);
    emitStridedLoop(
        b, block.warp, edge, block.getWarps(), {},
        [&](Value row, ValueRange) -> SmallVector<Value> {
          SmallVector<Value> indices = getPoint(readLoop, row, writeLoop);
          Value value =
              memref::LoadOp::create(b, tile, ValueRange{block.lane, row});
          SmallVector<IRMapping> bodies =
              point.emitBodies(indices, {}, nullptr, {&operand, value});
          point.emitStores(indices, bodies);
          return {};
        });
    gpu::BarrierOp::create(b);
    return {};
  };
  emitStridedLoop(b, point.makeIndex(0), countPoints(tiles, loops), 1, {},
                  emitTile);
}
