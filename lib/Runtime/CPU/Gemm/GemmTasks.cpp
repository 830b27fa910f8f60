//===- GemmTasks.cpp - Cut a GEMM into tasks ------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmTasks.h"

#include <algorithm>

using namespace regather::runtime;

/// The largest tile.
static constexpr int64_t kMaxRows = 512, kMaxColumns = 512;
/// Tiles of more multiply-adds than this are cut further while there are fewer
/// than are wanted.
static constexpr double kLargeTile = 32e6;
/// A task has at least so many multiply-adds if there are as many.
static constexpr double kSmallestTask = 2e6;

static int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

static int64_t getBatch(const rg_gemm_desc &desc) {
  int64_t batch = 1;
  for (int64_t i = 0; i < desc.batch_rank; ++i)
    batch *= desc.batch_sizes[i];
  return batch;
}

GemmTasks::GemmTasks(const rg_gemm_desc &desc)
    : GemmTasks(getBatch(desc), desc.m, desc.n, getSegmentLength(desc)) {}

GemmTasks::GemmTasks(int64_t batch, int64_t m, int64_t n, int64_t k,
                     int64_t wantedTiles)
    : m(m), n(n) {
  rowTiles = std::max<int64_t>(divideUp(m, kMaxRows), 1);
  columnTiles = std::max<int64_t>(divideUp(n, kMaxColumns), 1);
  auto setSizes = [&] {
    // Columns in whole vectors.
    constexpr int64_t vector = 16;
    rowsPerTile = std::max<int64_t>(divideUp(m, rowTiles), 1);
    columnsPerTile =
        std::max(divideUp(divideUp(n, columnTiles), vector) * vector, vector);
    rowTiles = divideUp(m, rowsPerTile);
    columnTiles = divideUp(n, columnsPerTile);
  };
  auto getWork = [&] {
    return static_cast<double>(rowsPerTile) *
           static_cast<double>(columnsPerTile) * static_cast<double>(k);
  };
  setSizes();
  while (batch * rowTiles * columnTiles < wantedTiles &&
         getWork() > kLargeTile) {
    // Of two equal sizes, the operand that is shorter is packed once more.
    bool cutsRows = rowsPerTile > columnsPerTile ||
                    (rowsPerTile == columnsPerTile && m >= n);
    int64_t &cut = cutsRows ? rowTiles : columnTiles;
    int64_t old = cut;
    cut *= 2;
    setSizes();
    if (cut <= old)
      break;
  }
  numTiles = batch * rowTiles * columnTiles;
  auto tilesPerTask = static_cast<int64_t>(
      std::clamp(kSmallestTask / std::max(getWork(), 1.0), 1.0,
                 std::max(static_cast<double>(numTiles), 1.0)));
  numTasks = divideUp(numTiles, tilesPerTask);
}

int64_t GemmTasks::getFirstTile(int64_t task) const {
  // Without overflow, and with equal shares for all.
  return task * (numTiles / numTasks) + std::min(task, numTiles % numTasks);
}

GemmTile GemmTasks::getTile(int64_t tile) const {
  GemmTile result;
  result.column = tile % columnTiles * columnsPerTile;
  tile /= columnTiles;
  result.row = tile % rowTiles * rowsPerTile;
  result.batch = tile / rowTiles;
  result.numRows = std::min(rowsPerTile, m - result.row);
  result.numColumns = std::min(columnsPerTile, n - result.column);
  return result;
}
