//===- TilePlan.cpp - How a kernel is tiled -------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/Transforms/TilePlan.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace regather;
using namespace regather::kernel;

/// Rows of a tile that do not divide the rows of the kernel are a multiple of
/// this.
static constexpr int64_t kSizeMultiple = 16;

/// Tensors of which tiles are one piece, and others, are a transposition from
/// this part of all bytes on.
static constexpr int64_t kTransposedShare = 4;

/// Less than this part of the largest tensor is little.
static constexpr int64_t kSmallShare = 8;

int64_t TilePlan::getNumTiles() const {
  int64_t count = 1;
  for (const TileLevel &level : levels)
    count *= level.getNumTiles();
  return count;
}

/// Bytes of one row of all values that have rows.
static int64_t getRowBytes(tg::KernelOp kernel, const RowTiling &tiling) {
  int64_t bytes = 0;
  auto add = [&](Type type) {
    bytes += tg::getTensorBytes(cast<RankedTensorType>(type)) / tiling.rows;
  };
  for (auto [argument, dim] :
       llvm::zip_equal(kernel.getArguments(), tiling.arguments))
    if (dim)
      add(argument.getType());
  for (const auto &[op, split] : tiling.splits)
    for (auto [result, dim] : llvm::zip_equal(op->getResults(), split.results))
      if (dim && !isa<tensor::EmptyOp>(op))
        add(result.getType());
  return std::max<int64_t>(bytes, 1);
}

namespace {
/// An argument or result that has rows.
struct TiledTensor {
  int64_t bytes;
  /// Consecutive bytes of one row.
  int64_t pieceBytes;
  /// True if a tile of any size is one piece.
  bool isWhole;
};
} // namespace

static SmallVector<TiledTensor> getTiledTensors(tg::KernelOp kernel,
                                                const RowTiling &tiling) {
  SmallVector<TiledTensor> tensors;
  auto visit = [&](Type type, std::optional<int64_t> dim) {
    if (!dim)
      return;
    auto tensor = cast<RankedTensorType>(type);
    int64_t numPieces = 1;
    for (int64_t outer : tensor.getShape().take_front(*dim))
      numPieces *= std::max<int64_t>(outer, 1);
    int64_t bytes = tg::getTensorBytes(tensor);
    int64_t pieceBytes =
        std::max<int64_t>(bytes / (tiling.rows * numPieces), 1);
    tensors.push_back({bytes, pieceBytes, numPieces == 1});
  };
  for (auto [type, dim] :
       llvm::zip_equal(kernel.getArgumentTypes(), tiling.arguments))
    visit(type, dim);
  for (auto [type, dim] :
       llvm::zip_equal(kernel.getResultTypes(), tiling.results))
    visit(type, dim);
  return tensors;
}

/// The fewest rows with which no piece of an argument or result is too short.
static int64_t getMinSize(tg::KernelOp kernel, const RowTiling &tiling,
                          const TileLimits &limits) {
  SmallVector<TiledTensor> tensors = getTiledTensors(kernel, tiling);
  int64_t bytes = 0, wholeBytes = 0, largestBytes = 0;
  for (const TiledTensor &tensor : tensors) {
    bytes += tensor.bytes;
    largestBytes = std::max(largestBytes, tensor.bytes);
    wholeBytes += tensor.isWhole ? tensor.bytes : 0;
  }
  int64_t crossPieceBytes =
      std::min(limits.minPieceBytes, limits.minCrossPieceBytes);
  bool isTransposition = wholeBytes >= bytes / kTransposedShare;
  int64_t size = 1;
  for (const TiledTensor &tensor : tensors) {
    if (tensor.isWhole)
      continue;
    // Rows of several elements need not be cut.
    bool isCrossed = isTransposition && tensor.pieceBytes < crossPieceBytes;
    int64_t pieceBytes = isCrossed || tensor.bytes < largestBytes / kSmallShare
                             ? crossPieceBytes
                             : limits.minPieceBytes;
    size = std::max<int64_t>(size,
                             llvm::divideCeil(pieceBytes, tensor.pieceBytes));
  }
  return std::min(size, tiling.rows);
}

/// A size near `wanted` that divides the rows, or else leaves one smaller tile,
/// which needs code of its own.
static int64_t roundSize(int64_t rows, int64_t wanted) {
  if (wanted >= rows)
    return rows;
  for (int64_t size = wanted; size > wanted / 2; --size)
    if (rows % size == 0)
      return size;
  return wanted < kSizeMultiple ? wanted
                                : wanted / kSizeMultiple * kSizeMultiple;
}

TilePlan kernel::planTiles(tg::KernelOp kernel, const TileLimits &limits) {
  separateConstants(kernel);
  TilePlan plan;
  plan.tile = kernel.clone();
  std::optional<RowTiling> tiling = findRowTiling(*plan.tile);
  while (tiling) {
    TileLevel level;
    int64_t wanted =
        std::max<int64_t>(limits.bytes / getRowBytes(*plan.tile, *tiling), 1);
    wanted = std::max(wanted, getMinSize(*plan.tile, *tiling, limits));
    level.size = roundSize(tiling->rows, wanted);
    OwningOpRef<tg::KernelOp> whole = std::move(plan.tile);
    plan.tile = buildRowTile(*whole, *tiling, level.size);
    if (int64_t remainder = tiling->rows % level.size)
      plan.lastTile = buildRowTile(*whole, *tiling, remainder);
    level.tiling = std::move(*tiling);
    level.tiling.splits.clear();
    tiling.reset();
    // A row may still be too much.
    if (level.size == 1 && level.tiling.rows > 1)
      tiling = findRowTiling(*plan.tile);
    plan.levels.push_back(std::move(level));
  }
  return plan;
}
