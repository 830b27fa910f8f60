//===- ThreadLoops.h - Operations on the threads of a block -----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_NVPTX_THREADLOOPS_H
#define REGATHER_LIB_KERNEL_NVPTX_THREADLOOPS_H

#include "LoopPoint.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace regather::nvptx {

inline constexpr int64_t kWarpThreads = 32;

/// How the points of an operation are given to threads. The order in which a
/// reduction adds is a function of its loops: neither of the block that it is
/// in, nor of what is computed with it.
enum class Schedule {
  /// A thread computes a point or a few consecutive ones; a reduction runs in
  /// the order of its steps.
  PointPerThread,
  /// The lanes of a warp share the steps of a reduction.
  PointPerWarp,
  /// `getRowThreads` threads share the steps of a reduction.
  PointPerBlock,
  /// Lanes compute neighbouring points; the warps of `kColumnThreads` threads
  /// share the steps.
  ColumnPerLane,
  /// Tiles of an operand pass through shared memory, so that both reads and
  /// writes are contiguous.
  Transpose,
};

/// Most threads of a block.
inline constexpr int64_t kMaxThreads = 256;
inline constexpr int64_t kMaxColumnThreads = 512;

/// Threads that share the reduction of a column: not fewer, and not more.
inline constexpr int64_t kColumnThreads = kMaxColumnThreads;

/// Threads that share a reduction by block: not fewer, and not more. Long rows
/// have many, so that the few rows that a GPU works on at a time stay in its
/// cache until they are read again.
int64_t getRowThreads(mlir::linalg::LinalgOp op);

Schedule chooseSchedule(mlir::linalg::LinalgOp op);

/// Which threads touch the results of an operation.
enum class ResultOwner {
  AllThreads,
  /// The first one of the block; others read operands.
  FirstThread,
  /// The first one, which does all of the operation.
  FirstThreadAlone,
};

ResultOwner getResultOwner(mlir::linalg::LinalgOp op);

/// How many threads the operation can make use of; between those of a warp and
/// the most that a block may have.
int64_t getUsefulThreads(mlir::linalg::LinalgOp op);

/// The threads of one block of a kernel.
struct ThreadBlock {
  mlir::gpu::GPUFuncOp func;
  int64_t threads;
  /// Orders of sums depend on what is summed alone, not on where it lies.
  bool isElastic;
  /// Number of the thread in the block, of its lane in the warp, and of the
  /// warp.
  mlir::Value thread, lane, warp;

  int64_t getWarps() const { return threads / kWarpThreads; }
  /// Shared memory of the given size, aligned to kBufferAlignment.
  mlir::Value addShared(llvm::ArrayRef<int64_t> shape, mlir::Type element);
};

/// Replaces an operation between buffers by loops over its part for each
/// thread. All threads have to be there; what it writes can be read after a
/// barrier.
void emitThreadLoops(mlir::linalg::LinalgOp op, ThreadBlock &block);

/// `emitThreadLoops` for schedules in which threads share a reduction.
void emitSharedReduction(mlir::linalg::LinalgOp op, Schedule schedule,
                         ThreadBlock &block);

/// `emitThreadLoops` for transposes.
void emitTranspose(mlir::linalg::LinalgOp op, ThreadBlock &block);

/// The operand that a transpose reads in tiles.
mlir::OpOperand *findTransposedOperand(mlir::linalg::LinalgOp op);

/// The operation by which a reduction combines its terms, if it is the only one
/// and the order of the terms may be chosen.
mlir::Operation *findCombiner(mlir::linalg::LinalgOp op);

/// The loops of a kind, from the outermost.
llvm::SmallVector<unsigned> getLoops(mlir::linalg::LinalgOp op,
                                     mlir::utils::IteratorType kind);

/// The parallel loops as the first result lies in memory, if it says so.
llvm::SmallVector<unsigned> getResultLoops(mlir::linalg::LinalgOp op);

int64_t countPoints(llvm::ArrayRef<int64_t> sizes,
                    llvm::ArrayRef<unsigned> loops);

/// Splits a number into an index for each of `loops`, the last one fastest.
/// `sizes` are those of all loops.
void delinearize(mlir::ImplicitLocOpBuilder &b, mlir::Value number,
                 llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<unsigned> loops,
                 llvm::MutableArrayRef<mlir::Value> indices);

/// Builds `body` for first, first + step, ... below `count`, with values that
/// the iterations carry. `first` is below `step`. Where every one of the `step`
/// has as many iterations, the bounds are constants, which lets LLVM unroll the
/// loop.
llvm::SmallVector<mlir::Value> emitStridedLoop(
    mlir::ImplicitLocOpBuilder &b, mlir::Value first, int64_t count,
    int64_t step, mlir::ValueRange carried,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                      mlir::ValueRange)>
        body);

} // namespace regather::nvptx

#endif // REGATHER_LIB_KERNEL_NVPTX_THREADLOOPS_H
