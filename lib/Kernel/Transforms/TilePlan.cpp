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

/// The fewest rows with which no piece of an argument or result is too short.
static int64_t getMinSize(tg::KernelOp kernel, const RowTiling &tiling,
                          int64_t minPieceBytes) {
  int64_t size = 1;
  auto visit = [&](Type type, std::optional<int64_t> dim) {
    auto tensor = cast<RankedTensorType>(type);
    if (!dim || llvm::all_of(tensor.getShape().take_front(*dim),
                             [](int64_t outer) { return outer == 1; }))
      return;
    int64_t bytes = tg::getTensorBytes(tensor) / tiling.rows;
    for (int64_t outer : tensor.getShape().take_front(*dim))
      bytes /= std::max<int64_t>(outer, 1);
    size = std::max(size, int64_t(llvm::divideCeil(
                              minPieceBytes, std::max<int64_t>(bytes, 1))));
  };
  for (auto [type, dim] :
       llvm::zip_equal(kernel.getArgumentTypes(), tiling.arguments))
    visit(type, dim);
  for (auto [type, dim] :
       llvm::zip_equal(kernel.getResultTypes(), tiling.results))
    visit(type, dim);
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
    wanted =
        std::max(wanted, getMinSize(*plan.tile, *tiling, limits.minPieceBytes));
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
