//===- GroupedGemm.cpp - Rows times the matrices of their groups ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows are cut into tiles whose places the description fixes, so that tasks are
// equally large whatever the groups; a tile is one GEMM for each group that it
// has rows of. The gradient of w has tiles of each matrix, with sums as long as
// the group.
//
//===----------------------------------------------------------------------===//

#include "regather/Runtime/GroupedGemm.h"

#include "CPU/Gemm/GemmEpilogue.h"
#include "CPU/Gemm/TileGemm.h"
#include "CPU/Scratch.h"
#include "Numeric/Elements.h"

#include <limits>
#include <memory>
#include <utility>
#include <vector>

using namespace regather::runtime;

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

namespace {
/// The rows [begin, end) of a group.
struct RowRange {
  int64_t begin, end;
};

/// Reads the ends of groups, from the first on.
class GroupReader {
public:
  GroupReader(const rg_grouped_gemm_desc &desc, void *const *buffers)
      : ends(desc.ends), data(buffers[desc.ends.buffer]), rows(desc.rows) {}

  /// Rows of the group behind those of the one before.
  RowRange next() {
    int64_t begin = end;
    end =
        std::clamp(load(ends.offset + group++ * ends.strides[0]), begin, rows);
    return {begin, end};
  }

private:
  int64_t load(int64_t i) const {
    return ends.dtype == RG_I32 ? static_cast<const int32_t *>(data)[i]
                                : static_cast<const int64_t *>(data)[i];
  }

  const rg_grouped_gemm_operand &ends;
  const void *data;
  int64_t rows, group = 0, end = 0;
};

/// One product of the three, with its tiles in tasks.
class GroupedPart {
public:
  GroupedPart(const rg_grouped_gemm_desc &desc, const rg_gemm_desc &gemm,
              GemmTasks tasks)
      : desc(desc), gemm(gemm),
        kernels(gemm.a.dtype == gemm.b.dtype ? getBlockKernels(gemm.a.dtype)
                                             : getBlockKernels()),
        tasks(tasks), tileGemm(kernels, tasks, gemm.k) {}
  virtual ~GroupedPart() = default;

  int64_t getNumTasks() const { return tasks.getNumTasks(); }
  size_t getScratchBytes() const { return tileGemm.getScratchBytes(); }

  void run(void *const *buffers, int64_t task, void *scratch) const {
    int64_t end = tasks.getFirstTile(task + 1);
    for (int64_t tile = tasks.getFirstTile(task); tile < end; ++tile)
      runTile(buffers, tasks.getTile(tile), scratch);
  }

protected:
  virtual void runTile(void *const *buffers, const GemmTile &tile,
                       void *scratch) const = 0;

  /// Multiplies `length` columns of A, from `first` on, by as many rows of B.
  void multiply(void *const *buffers, const GemmTile &tile, int64_t first,
                int64_t length, void *scratch) const;

  rg_grouped_gemm_desc desc;
  /// The GEMM of all rows, with the groups as its batch.
  rg_gemm_desc gemm;

private:
  const BlockKernels &kernels;

protected:
  GemmTasks tasks;

private:
  TileGemm tileGemm;
};
} // namespace

void GroupedPart::multiply(void *const *buffers, const GemmTile &tile,
                           int64_t first, int64_t length, void *scratch) const {
  GemmOperand a(gemm, gemm.a, buffers, tile.batch);
  GemmOperand b(gemm, gemm.b, buffers, tile.batch);
  auto packLeft = [&](int64_t begin, int64_t count, float *panels) {
    kernels.pack({a.at(tile.row, first + begin), a.dtype, tile.numRows,
                  a.strides[0], count, a.strides[1]},
                 kernels.rows, panels);
  };
  auto packRight = [&](int64_t begin, int64_t count, float *panels) {
    kernels.pack({b.at(first + begin, tile.column), b.dtype, tile.numColumns,
                  b.strides[1], count, b.strides[0]},
                 kernels.columns, panels);
  };
  GemmEpilogue epilogue(gemm, buffers, tile.batch);
  tileGemm.run(tile, length, packLeft, packRight, epilogue, scratch);
}

//===----------------------------------------------------------------------===//
// Rows times matrices
//===----------------------------------------------------------------------===//

namespace {
class RowProducts final : public GroupedPart {
public:
  using GroupedPart::GroupedPart;

private:
  void runTile(void *const *buffers, const GemmTile &tile,
               void *scratch) const override;
  /// Fills rows of no group.
  void fill(void *const *buffers, const GemmTile &tile) const;
};
} // namespace

void RowProducts::fill(void *const *buffers, const GemmTile &tile) const {
  float value =
      desc.fills_zeros ? 0.0f : std::numeric_limits<float>::quiet_NaN();
  GemmOperand result(gemm, gemm.c, buffers, /*batch=*/0);
  useRoutineFloat(result.dtype, [&](auto element) {
    using Element = decltype(element);
    for (int64_t i = 0; i < tile.numRows; ++i)
      for (int64_t j = 0; j < tile.numColumns; ++j)
        *static_cast<typename Element::Storage *>(
            result.at(tile.row + i, tile.column + j)) = Element::store(value);
  });
}

void RowProducts::runTile(void *const *buffers, const GemmTile &tile,
                          void *scratch) const {
  GroupReader groups(desc, buffers);
  const int64_t end = tile.row + tile.numRows;
  GemmTile part = tile;
  for (int64_t group = 0; group < desc.groups && part.row < end; ++group) {
    RowRange rows = groups.next();
    if (rows.end <= part.row)
      continue;
    // What comes before belongs to earlier groups.
    part.batch = group;
    part.numRows = std::min(rows.end, end) - part.row;
    multiply(buffers, part, 0, gemm.k, scratch);
    part.row += part.numRows;
  }
  part.numRows = end - part.row;
  fill(buffers, part);
}

//===----------------------------------------------------------------------===//
// The gradient of matrices
//===----------------------------------------------------------------------===//

namespace {
class MatrixGradients final : public GroupedPart {
public:
  using GroupedPart::GroupedPart;

private:
  void runTile(void *const *buffers, const GemmTile &tile,
               void *scratch) const override {
    GroupReader groups(desc, buffers);
    RowRange rows = groups.next();
    for (int64_t group = 0; group < tile.batch; ++group)
      rows = groups.next();
    multiply(buffers, tile, rows.begin, rows.end - rows.begin, scratch);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

static bool isThere(const rg_grouped_gemm_operand &operand) {
  return operand.buffer >= 0;
}

static bool isValid(const rg_grouped_gemm_desc &desc) {
  if (desc.groups < 1 || desc.rows < 0 || desc.inner < 0 || desc.outer < 0)
    return false;
  for (const rg_grouped_gemm_operand *operand :
       {&desc.x, &desc.w, &desc.y, &desc.to_x, &desc.to_w, &desc.to_y})
    if (operand->buffer < -1 ||
        (isThere(*operand) && !isRoutineFloat(operand->dtype)))
      return false;
  bool hasX = isThere(desc.x), hasW = isThere(desc.w), hasY = isThere(desc.y);
  return isThere(desc.ends) &&
         (desc.ends.dtype == RG_I32 || desc.ends.dtype == RG_I64) &&
         (!isThere(desc.to_y) || (hasX && hasW)) &&
         (!isThere(desc.to_x) || (hasY && hasW)) &&
         (!isThere(desc.to_w) || (hasX && hasY));
}

/// An operand with strides of rows and columns, and those of groups if it has
/// any.
static rg_gemm_operand makeOperand(const rg_grouped_gemm_operand &operand,
                                   int64_t row, int64_t column,
                                   int64_t group = 0) {
  rg_gemm_operand result = {};
  result.buffer = operand.buffer;
  result.dtype = operand.dtype;
  result.offset = operand.offset;
  result.strides[0] = row;
  result.strides[1] = column;
  result.batch_strides[0] = group;
  return result;
}

static rg_gemm_desc makeGemm(const rg_grouped_gemm_desc &desc, int64_t m,
                             int64_t n, int64_t k) {
  rg_gemm_desc gemm = {};
  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  gemm.batch_rank = 1;
  gemm.batch_sizes[0] = desc.groups;
  gemm.alpha = 1;
  return gemm;
}

using Parts = std::vector<std::unique_ptr<GroupedPart>>;

/// From x and w, or from y and the transposed matrices.
static void addRowProducts(const rg_grouped_gemm_desc &desc, bool isAdjoint,
                           Parts &parts) {
  int64_t width = isAdjoint ? desc.inner : desc.outer;
  int64_t depth = isAdjoint ? desc.outer : desc.inner;
  const rg_grouped_gemm_operand &from = isAdjoint ? desc.y : desc.x;
  const rg_grouped_gemm_operand &to = isAdjoint ? desc.to_x : desc.to_y;
  rg_gemm_desc gemm = makeGemm(desc, desc.rows, width, depth);
  int64_t row = desc.w.strides[1], column = desc.w.strides[2];
  if (isAdjoint)
    std::swap(row, column);
  gemm.a = makeOperand(from, from.strides[0], from.strides[1]);
  gemm.b = makeOperand(desc.w, row, column, desc.w.strides[0]);
  gemm.c = makeOperand(to, to.strides[0], to.strides[1]);
  parts.push_back(std::make_unique<RowProducts>(
      desc, gemm, GemmTasks(/*batch=*/1, desc.rows, width, depth)));
}

static void addMatrixGradients(const rg_grouped_gemm_desc &desc, Parts &parts) {
  rg_gemm_desc gemm = makeGemm(desc, desc.inner, desc.outer, desc.rows);
  const rg_grouped_gemm_operand &to = desc.to_w;
  gemm.a = makeOperand(desc.x, desc.x.strides[1], desc.x.strides[0]);
  gemm.b = makeOperand(desc.y, desc.y.strides[0], desc.y.strides[1]);
  gemm.c = makeOperand(to, to.strides[1], to.strides[2], to.strides[0]);
  // Sums are written row by row; a transposed matrix has the same ones.
  if (to.strides[1] == 1 && to.strides[2] != 1) {
    std::swap(gemm.m, gemm.n);
    std::swap(gemm.a, gemm.b);
    for (rg_gemm_operand *operand : {&gemm.a, &gemm.b, &gemm.c})
      std::swap(operand->strides[0], operand->strides[1]);
  }
  // As much work as if all groups had equally many rows.
  GemmTasks tasks(desc.groups, gemm.m, gemm.n,
                  (desc.rows + desc.groups - 1) / desc.groups);
  parts.push_back(std::make_unique<MatrixGradients>(desc, gemm, tasks));
}

namespace {
class GroupedGemm {
public:
  explicit GroupedGemm(const rg_grouped_gemm_desc &desc) {
    if (isThere(desc.to_y))
      addRowProducts(desc, /*isAdjoint=*/false, parts);
    if (isThere(desc.to_x))
      addRowProducts(desc, /*isAdjoint=*/true, parts);
    if (isThere(desc.to_w))
      addMatrixGradients(desc, parts);
  }

  int64_t getNumTasks() const {
    int64_t count = 0;
    for (const auto &part : parts)
      count += part->getNumTasks();
    return count;
  }

  size_t getScratchBytes() const {
    size_t bytes = 0;
    for (const auto &part : parts)
      bytes = std::max(bytes, part->getScratchBytes());
    return bytes;
  }

  void run(void *const *buffers, int64_t task, void *scratch) const {
    for (const auto &part : parts) {
      if (task < part->getNumTasks())
        return part->run(buffers, task, scratch);
      task -= part->getNumTasks();
    }
  }

private:
  /// At most three.
  Parts parts;
};
} // namespace

static const GroupedGemm *unwrap(const rg_grouped_gemm *gemm) {
  return reinterpret_cast<const GroupedGemm *>(gemm);
}

rg_status rg_grouped_gemm_create(const rg_grouped_gemm_desc *desc,
                                 rg_grouped_gemm **gemm) {
  if (!desc || !gemm || !isValid(*desc))
    return RG_ERROR_ARGUMENT;
  *gemm = reinterpret_cast<rg_grouped_gemm *>(
      std::make_unique<GroupedGemm>(*desc).release());
  return RG_OK;
}

int64_t rg_grouped_gemm_tasks(const rg_grouped_gemm *gemm) {
  return gemm ? unwrap(gemm)->getNumTasks() : 0;
}

size_t rg_grouped_gemm_scratch(const rg_grouped_gemm *gemm) {
  return gemm ? unwrap(gemm)->getScratchBytes() : 0;
}

rg_status rg_grouped_gemm_run_task(const rg_grouped_gemm *gemm,
                                   void *const *buffers, int64_t task,
                                   void *scratch) {
  if (!gemm || task < 0 || task >= unwrap(gemm)->getNumTasks())
    return RG_ERROR_ARGUMENT;
  unwrap(gemm)->run(buffers, task, scratch);
  return RG_OK;
}

rg_status rg_grouped_gemm_run(const rg_grouped_gemm *gemm,
                              void *const *buffers) {
  if (!gemm)
    return RG_ERROR_ARGUMENT;
  return runTasks(rg_grouped_gemm_tasks(gemm), rg_grouped_gemm_scratch(gemm),
                  [&](int64_t task, void *scratch) {
                    return rg_grouped_gemm_run_task(gemm, buffers, task,
                                                    scratch);
                  });
}

void rg_grouped_gemm_destroy(rg_grouped_gemm *gemm) { delete unwrap(gemm); }
