//===- GemmPlan.cpp - GEMMs as cuBLASLt computes them ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmPlan.h"

#include "regather/Runtime/GpuProgram.h"

#include <algorithm>
#include <limits>

using namespace regather::runtime;

/// Most calls that one GEMM is split into.
static constexpr int64_t kMaxCalls = 1024;

int64_t GemmPlan::getNumCalls() const {
  int64_t count = d ? 1 : 0;
  for (int64_t size : callSizes)
    count *= size;
  return count;
}

int64_t GemmPlan::getOffset(const PlannedMatrix &matrix, int64_t call) const {
  int64_t offset = matrix.offset;
  for (size_t i = callSizes.size(); i-- > 0;) {
    offset += call % callSizes[i] * matrix.callStrides[i];
    call /= callSizes[i];
  }
  return offset;
}

static std::string describe(const PlannedMatrix &matrix) {
  if (!matrix)
    return "-";
  return std::string(rg_dtype_name(matrix.dtype)) + "[" +
         std::to_string(matrix.rows) + "," + std::to_string(matrix.columns) +
         ":" + std::to_string(matrix.leading) + "," +
         std::to_string(matrix.batchStride) + "]";
}

bool GemmPlan::isLarge() const {
  constexpr int64_t kLargeSpan = int64_t(1) << 31;
  constexpr int64_t kLargeSize = int64_t(1) << 21;
  for (const PlannedMatrix *matrix : {&a, &b, &c, &d})
    if (*matrix && (matrix->getSpan(batch) >= kLargeSpan ||
                    std::max(matrix->rows, matrix->columns) >= kLargeSize))
      return true;
  return false;
}

std::string GemmPlan::describe() const {
  return std::string("a") + (transposesA ? "'=" : "=") + ::describe(a) + " b" +
         (transposesB ? "'=" : "=") + ::describe(b) + " c=" + ::describe(c) +
         " d=" + ::describe(d) + " bias=" + ::describe(bias) +
         " relu=" + std::to_string(relu) + " batch=" + std::to_string(batch);
}

namespace {
/// An operand whose matrices lie along two dimensions, and the dimensions of
/// the batch.
struct Strided {
  rg_gemm_operand operand;
  int64_t strides[2];
  std::vector<int64_t> batch;
};

class GemmPlanner {
public:
  explicit GemmPlanner(const rg_gemm_desc &desc);

  /// Joins dimensions of the batch that lie behind each other.
  void joinBatch();
  /// Makes dimensions of the batch rows or columns, where the other operand is
  /// one matrix for all of them.
  void foldBatch();
  /// Plans D as C or as its transpose.
  std::optional<GemmPlan> plan(bool transposed);

  const char *getReason() const { return reason; }

private:
  bool fail(const char *why) {
    reason = why;
    return false;
  }
  bool canJoin(size_t outer, size_t inner) const;
  bool fold(size_t dim, Strided &kept, const Strided &repeated, int64_t &size,
            int along);
  void eraseDim(size_t dim);
  void chooseBatch(GemmPlan &plan) const;
  PlannedMatrix describe(const Strided &operand, size_t batchDim) const;
  /// op(matrix) has the given sizes, of which `row` and `column` are the
  /// dimensions of the operand.
  bool placeFactor(const Strided &operand, int64_t rows, int64_t columns,
                   int row, PlannedMatrix &matrix, bool &transposes);
  bool placeAddend(const Strided &operand, int row, GemmPlan &plan);

  const rg_gemm_desc &desc;
  int64_t m, n;
  std::vector<int64_t> sizes;
  /// A, B, C and addends.
  std::vector<Strided> operands;
  size_t batchDim = 0;
  const char *reason = "";
};
} // namespace

GemmPlanner::GemmPlanner(const rg_gemm_desc &desc)
    : desc(desc), m(desc.m), n(desc.n) {
  auto add = [&](const rg_gemm_operand &operand) {
    Strided &strided = operands.emplace_back();
    strided.operand = operand;
    std::copy(operand.strides, operand.strides + 2, strided.strides);
    for (int64_t i = 0; i < desc.batch_rank; ++i)
      if (desc.batch_sizes[i] != 1)
        strided.batch.push_back(operand.batch_strides[i]);
  };
  for (const rg_gemm_operand *operand : {&desc.a, &desc.b, &desc.c})
    add(*operand);
  for (int32_t i = 0; i < desc.addend_count; ++i)
    add(desc.addends[i]);
  for (int64_t i = 0; i < desc.batch_rank; ++i)
    if (desc.batch_sizes[i] != 1)
      sizes.push_back(desc.batch_sizes[i]);
}

void GemmPlanner::eraseDim(size_t dim) {
  auto position = static_cast<ptrdiff_t>(dim);
  sizes.erase(sizes.begin() + position);
  for (Strided &operand : operands)
    operand.batch.erase(operand.batch.begin() + position);
}

bool GemmPlanner::canJoin(size_t outer, size_t inner) const {
  return std::all_of(
      operands.begin(), operands.end(), [&](const Strided &operand) {
        return operand.batch[outer] == operand.batch[inner] * sizes[inner];
      });
}

void GemmPlanner::joinBatch() {
  for (size_t inner = 0; inner < sizes.size();) {
    size_t outer = 0;
    while (outer < sizes.size() && (outer == inner || !canJoin(outer, inner)))
      ++outer;
    if (outer == sizes.size()) {
      ++inner;
      continue;
    }
    sizes[inner] *= sizes[outer];
    eraseDim(outer);
    // Others may join the larger dimension.
    inner = 0;
  }
}

bool GemmPlanner::fold(size_t dim, Strided &kept, const Strided &repeated,
                       int64_t &size, int along) {
  auto follows = [&](const Strided &operand) {
    return size == 1 || operand.batch[dim] == operand.strides[along] * size;
  };
  if (repeated.batch[dim] != 0 || !follows(kept) ||
      !std::all_of(operands.begin() + 2, operands.end(), follows))
    return false;
  if (size == 1) {
    kept.strides[along] = kept.batch[dim];
    for (size_t i = 2; i < operands.size(); ++i)
      operands[i].strides[along] = operands[i].batch[dim];
  }
  size *= sizes[dim];
  eraseDim(dim);
  return true;
}

void GemmPlanner::foldBatch() {
  for (size_t dim = sizes.size(); dim-- > 0;)
    if (!fold(dim, operands[0], operands[1], m, 0))
      fold(dim, operands[1], operands[0], n, 1);
}

void GemmPlanner::chooseBatch(GemmPlan &plan) const {
  plan.batch = sizes.empty() ? 1 : sizes[batchDim];
  for (size_t i = 0; i < sizes.size(); ++i)
    if (i != batchDim)
      plan.callSizes.push_back(sizes[i]);
}

PlannedMatrix GemmPlanner::describe(const Strided &operand,
                                    size_t batchDim) const {
  PlannedMatrix matrix;
  matrix.buffer = operand.operand.buffer;
  matrix.dtype = operand.operand.dtype;
  matrix.offset = operand.operand.offset;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (i == batchDim)
      matrix.batchStride = operand.batch[i];
    else
      matrix.callStrides.push_back(operand.batch[i]);
  return matrix;
}

/// Places a matrix in column-major order; false if it does not lie so.
static bool place(PlannedMatrix &matrix, int64_t rows, int64_t columns,
                  int64_t rowStride, int64_t columnStride) {
  if ((rows != 1 && rowStride != 1) || (columns != 1 && columnStride < rows))
    return false;
  matrix.rows = rows;
  matrix.columns = columns;
  matrix.leading = columns == 1 ? rows : columnStride;
  return true;
}

bool GemmPlanner::placeFactor(const Strided &operand, int64_t rows,
                              int64_t columns, int row, PlannedMatrix &matrix,
                              bool &transposes) {
  matrix = describe(operand, batchDim);
  int64_t rowStride = operand.strides[row];
  int64_t columnStride = operand.strides[1 - row];
  transposes = !place(matrix, rows, columns, rowStride, columnStride);
  return !transposes || place(matrix, columns, rows, columnStride, rowStride) ||
         fail("a factor lies along none of its dimensions");
}

bool GemmPlanner::placeAddend(const Strided &operand, int row, GemmPlan &plan) {
  if (operand.operand.dtype != plan.d.dtype)
    return fail("an addend has another type than the result");
  PlannedMatrix matrix = describe(operand, batchDim);
  int64_t rowStride = operand.strides[row];
  int64_t columnStride = operand.strides[1 - row];
  if (!plan.c &&
      place(matrix, plan.d.rows, plan.d.columns, rowStride, columnStride)) {
    plan.c = matrix;
    return true;
  }
  bool isColumn = columnStride == 0 || plan.d.columns == 1;
  if (!plan.bias && isColumn &&
      place(matrix, plan.d.rows, 1, rowStride, columnStride)) {
    plan.bias = matrix;
    return true;
  }
  return fail("the addends are not one tensor and one bias");
}

std::optional<GemmPlan> GemmPlanner::plan(bool transposed) {
  GemmPlan plan;
  plan.alpha = desc.alpha;
  plan.relu = desc.relu != 0;
  batchDim = static_cast<size_t>(std::max_element(sizes.begin(), sizes.end()) -
                                 sizes.begin());
  chooseBatch(plan);
  const Strided &left = operands[transposed ? 1 : 0];
  const Strided &right = operands[transposed ? 0 : 1];
  int64_t rows = transposed ? n : m, columns = transposed ? m : n;
  int row = transposed ? 1 : 0;
  if (!placeFactor(left, rows, desc.k, row, plan.a, plan.transposesA) ||
      !placeFactor(right, desc.k, columns, row, plan.b, plan.transposesB))
    return std::nullopt;
  plan.d = describe(operands[2], batchDim);
  if (!place(plan.d, rows, columns, operands[2].strides[row],
             operands[2].strides[1 - row])) {
    fail("the result lies along none of its dimensions");
    return std::nullopt;
  }
  for (size_t i = 3; i < operands.size(); ++i)
    if (!placeAddend(operands[i], row, plan))
      return std::nullopt;
  if (plan.batch > std::numeric_limits<int32_t>::max() ||
      plan.getNumCalls() > kMaxCalls) {
    fail("the batch takes too many calls");
    return std::nullopt;
  }
  return plan;
}

static bool isEmpty(const rg_gemm_desc &desc) {
  return desc.m == 0 || desc.n == 0 ||
         std::any_of(desc.batch_sizes, desc.batch_sizes + desc.batch_rank,
                     [](int64_t size) { return size == 0; });
}

GemmPlanning regather::runtime::planGemm(const rg_gemm_desc &desc) {
  if (isEmpty(desc))
    return {GemmPlan(), ""};
  if (desc.k == 0)
    return {std::nullopt, "there is nothing to multiply"};
  if (desc.segments > 1)
    return {std::nullopt, "the library does not sum over segments"};
  if (desc.c.dtype != RG_F32 && desc.c.dtype != desc.a.dtype)
    return {std::nullopt,
            "the result is neither f32 nor of the type of the factors"};
  GemmPlanning planning;
  for (bool folds : {true, false}) {
    GemmPlanner planner(desc);
    planner.joinBatch();
    if (folds)
      planner.foldBatch();
    for (bool transposed : {true, false}) {
      planning.plan = planner.plan(transposed);
      if (planning.plan)
        return planning;
      // That of the usual order, row-major, says most.
      if (folds && transposed)
        planning.reason = planner.getReason();
    }
  }
  return planning;
}

const char *rg_gpu_gemm_obstacle(const rg_gemm_desc *desc) {
  GemmPlanning planning = planGemm(*desc);
  return planning.plan ? nullptr : planning.reason;
}
