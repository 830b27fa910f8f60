//===- Backward.cpp - Gradients of attention ------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A task is one head of K and V, with all heads of Q that it serves: no two
// tasks write to the same place; of all elements of the batch, if the gradient
// of the mask is a sum over these. With the gradient G of the output:
//
//   for head, block of rows:
//     D = sum(G * O) along each row
//     for block of columns that the rows see:
//       P = exp(scale * Q K^T, bounded, + mask - L)
//       S = P * (G V^T - D), grad mask += S
//       S = S * scale * slope of the bound
//       grad V += P^T G, grad K += S^T Q, grad Q += S K
//
// Where a mask adds a large negative number to all of a row, L has lost the sum
// of the exponentials to rounding. Such rows are summed again first, and their
// P divided by what that gives.
//
// Blocks that a mask hides are left out if each row sees something else, or
// nothing at all: P is zero there.
//
//===----------------------------------------------------------------------===//

#include "Attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace regather::runtime;

/// Rows have multiples of so many columns.
static constexpr int64_t kRowVector = 16;

namespace {
class AttentionBackward final : public Attention {
public:
  using Attention::Attention;

  int64_t getNumTasks() const override {
    int64_t keyHeads = desc.heads / desc.groups;
    return sumsOverBatch() ? keyHeads : desc.batch * keyHeads;
  }
  size_t getScratchBytes() const override {
    return Memory(*this, nullptr).bytes;
  }
  void run(void *const *buffers, int64_t task, void *scratch) const override;

private:
  /// The scratch memory of a task.
  struct Memory {
    Memory(const AttentionBackward &attention, void *scratch);
    /// Packed for all columns: rows of K and V, and the elements of K.
    float *keyRows, *valueRows, *keyElements;
    /// Packed for one block of rows.
    float *queryRows, *queryElements, *gradRows, *gradElements;
    /// Of one block of scores: P, S, and these packed.
    float *powers, *scores, *packed;
    float *gradQuery, *gradKey, *gradValue;
    /// One row.
    float *mask, *slopes, *first, *second;
    /// D and L.
    float *along, *logs;
    /// What P is multiplied with; 1 but for large L.
    float *factors;
    size_t bytes;
  };
  struct Sums {
    TiledSums query, key, value;
  };

  bool sumsOverBatch() const {
    return desc.mask_gradient && desc.grad_mask.strides[0] == 0;
  }
  void clearMaskGradient(void *const *buffers, int64_t batch,
                         int64_t head) const;
  void packColumns(const HeadView &key, const HeadView &value,
                   const Memory &memory) const;
  void runHead(void *const *buffers, int64_t batch, int64_t head,
               const Memory &memory) const;
  void runRows(void *const *buffers, int64_t batch, int64_t head, int64_t row,
               const Memory &memory, Sums &sums) const;
  void addBlock(int64_t row, int64_t numRows, int64_t column,
                const HeadView &mask, const HeadView &gradMask,
                const Memory &memory, Sums &sums) const;
  bool isHidden(int64_t row, int64_t numRows, int64_t column,
                const HeadView &mask, const Memory &memory) const;
  float takePowers(int64_t row, int64_t i, int64_t column, int64_t numColumns,
                   const HeadView &mask, const Memory &memory,
                   float *slopes) const;
  void findFactors(int64_t row, int64_t numRows, const HeadView &mask,
                   const Memory &memory) const;
};
} // namespace

AttentionBackward::Memory::Memory(const AttentionBackward &attention,
                                  void *scratch) {
  const BlockKernels &kernels = attention.kernels;
  const rg_attention_desc &desc = attention.desc;
  ScratchParts parts(scratch);
  int64_t width = roundUp(desc.width, kernels.columns);
  int64_t valueWidth = roundUp(desc.value_width, kernels.columns);
  int64_t columns = roundUp(desc.columns, kColumnBlock);
  int64_t numRows = roundUp(kRowBlock, kernels.rows);
  int64_t numColumns = roundUp(kColumnBlock, kernels.rows);
  keyRows = parts.take(columns * desc.width);
  valueRows = parts.take(columns * desc.value_width);
  keyElements = parts.take(columns * width);
  queryRows = parts.take(numRows * desc.width);
  queryElements = parts.take(kRowBlock * width);
  gradRows = parts.take(numRows * desc.value_width);
  gradElements = parts.take(kRowBlock * valueWidth);
  powers = parts.take(kRowBlock * kColumnBlock);
  scores = parts.take(kRowBlock * kColumnBlock);
  packed = parts.take(std::max(numRows * kColumnBlock, numColumns * kRowBlock));
  gradQuery = parts.take(kRowBlock * width);
  gradKey = parts.take(columns * width);
  gradValue = parts.take(columns * valueWidth);
  int64_t longest = std::max({kColumnBlock, width, valueWidth});
  mask = parts.take(longest);
  slopes = parts.take(kColumnBlock);
  first = parts.take(longest);
  second = parts.take(longest);
  along = parts.take(kRowBlock);
  logs = parts.take(kRowBlock);
  factors = parts.take(kRowBlock);
  bytes = parts.getBytes();
}

void AttentionBackward::packColumns(const HeadView &key, const HeadView &value,
                                    const Memory &memory) const {
  int64_t width = roundUp(desc.width, kernels.columns);
  for (int64_t j = 0; j < desc.columns; j += kColumnBlock) {
    int64_t count = std::min(kColumnBlock, desc.columns - j);
    kernels.pack(key.getRows(j, count, desc.width), kernels.columns,
                 memory.keyRows + j * desc.width);
    kernels.pack(value.getRows(j, count, desc.value_width), kernels.columns,
                 memory.valueRows + j * desc.value_width);
    kernels.pack(key.getElements(j, count, desc.width), kernels.columns,
                 memory.keyElements + j * width);
  }
}

/// Makes exponentials of the scores of one row of a block; gives their sum, and
/// the slopes of their bound, unless that is null.
float AttentionBackward::takePowers(int64_t row, int64_t i, int64_t column,
                                    int64_t numColumns, const HeadView &mask,
                                    const Memory &memory, float *slopes) const {
  float *powers = memory.powers + i * kColumnBlock;
  int64_t visible = countVisible(row + i, column, numColumns);
  int64_t count = roundUp(visible, kRowVector);
  if (desc.masked)
    mask.readMask(row + i, column, numColumns, memory.mask);
  makeScores(powers, visible, count, desc.masked ? memory.mask : nullptr,
             slopes);
  bool isMasked = memory.logs[i] == -std::numeric_limits<float>::infinity();
  return kernels.exponentials(powers, count, isMasked ? 0.0f : memory.logs[i]);
}

/// Sums the rows whose L is large.
void AttentionBackward::findFactors(int64_t row, int64_t numRows,
                                    const HeadView &mask,
                                    const Memory &memory) const {
  std::fill(memory.factors, memory.factors + numRows, 1.0f);
  auto isLarge = [&](int64_t i) {
    return std::isfinite(memory.logs[i]) &&
           std::abs(memory.logs[i]) >= kLargeLog;
  };
  int64_t first = 0;
  while (first < numRows && !isLarge(first))
    ++first;
  if (!desc.masked || desc.mask.dtype == RG_I1 || first == numRows)
    return;
  for (int64_t i = first; i < numRows; ++i)
    if (isLarge(i))
      memory.factors[i] = 0;
  int64_t end = getVisible(row + numRows - 1);
  for (int64_t column = 0; column < end; column += kColumnBlock) {
    int64_t numColumns = std::min(kColumnBlock, desc.columns - column);
    multiplyBlock(kernels, memory.queryRows,
                  memory.keyRows + column * desc.width, desc.width, numRows,
                  numColumns, getVisibleInBlock(row, column), memory.powers,
                  kColumnBlock);
    for (int64_t i = first; i < numRows; ++i)
      if (isLarge(i))
        memory.factors[i] +=
            takePowers(row, i, column, numColumns, mask, memory,
                       /*slopes=*/nullptr);
  }
  for (int64_t i = first; i < numRows; ++i)
    if (isLarge(i) && memory.factors[i] != 0)
      memory.factors[i] = 1 / memory.factors[i];
}

/// Adds the gradients by one block of scores.
void AttentionBackward::addBlock(int64_t row, int64_t numRows, int64_t column,
                                 const HeadView &mask, const HeadView &gradMask,
                                 const Memory &memory, Sums &sums) const {
  int64_t numColumns = std::min(kColumnBlock, desc.columns - column);
  const int64_t visible = getVisibleInBlock(row, column);
  multiplyBlock(kernels, memory.queryRows, memory.keyRows + column * desc.width,
                desc.width, numRows, numColumns, visible, memory.powers,
                kColumnBlock);
  multiplyBlock(kernels, memory.gradRows,
                memory.valueRows + column * desc.value_width, desc.value_width,
                numRows, numColumns, visible, memory.scores, kColumnBlock);
  for (int64_t i = 0; i < numRows; ++i) {
    int64_t count =
        roundUp(countVisible(row + i, column, numColumns), kRowVector);
    float *powers = memory.powers + i * kColumnBlock;
    float *scores = memory.scores + i * kColumnBlock;
    takePowers(row, i, column, numColumns, mask, memory,
               desc.softcap != 0 ? memory.slopes : nullptr);
    if (memory.factors[i] != 1)
      kernels.multiplyRow(powers, count, memory.factors[i]);
    kernels.gradientsOfScores(powers, scores, count, memory.along[i],
                              desc.mask_gradient ? 1.0f : desc.scale);
    for (float *block : {powers, scores})
      std::fill(block + count, block + std::max(count, numColumns), 0.0f);
    if (desc.mask_gradient) {
      gradMask.add(row + i, column, numColumns, scores);
      kernels.multiplyRow(scores, count, desc.scale);
    }
    if (desc.softcap != 0)
      kernels.multiplyNumbers(scores, memory.slopes, count);
  }
  auto packTransposed = [&](const float *block) {
    kernels.pack({block, RG_F32, numColumns, 1, numRows, kColumnBlock},
                 kernels.rows, memory.packed);
  };
  packTransposed(memory.powers);
  const SeenScores seen = {visible, /*isTransposed=*/true};
  sums.value.add(memory.packed, memory.gradElements, column, numColumns,
                 numRows, seen);
  packTransposed(memory.scores);
  sums.key.add(memory.packed, memory.queryElements, column, numColumns, numRows,
               seen);
  kernels.pack({memory.scores, RG_F32, numRows, kColumnBlock, numColumns, 1},
               kernels.rows, memory.packed);
  sums.query.add(memory.packed,
                 memory.keyElements +
                     column * roundUp(desc.width, kernels.columns),
                 0, numRows, numColumns, {visible});
}

bool AttentionBackward::isHidden(int64_t row, int64_t numRows, int64_t column,
                                 const HeadView &mask,
                                 const Memory &memory) const {
  return hidesBlock(mask, row, numRows, column,
                    std::min(kColumnBlock, desc.columns - column), memory.mask);
}

void AttentionBackward::runRows(void *const *buffers, int64_t batch,
                                int64_t head, int64_t row, const Memory &memory,
                                Sums &sums) const {
  int64_t numRows = std::min(kRowBlock, desc.rows - row);
  HeadView query(desc.q, buffers, batch, head);
  HeadView grad(desc.grad_o, buffers, batch, head);
  HeadView output(desc.o, buffers, batch, head);
  HeadView logs(desc.l, buffers, batch, head);
  HeadView mask(desc.masked ? desc.mask : desc.q, buffers, batch, head);
  HeadView gradQuery(desc.grad_q, buffers, batch, head);
  HeadView gradMask(desc.mask_gradient ? desc.grad_mask : desc.grad_q, buffers,
                    batch, head);
  for (int64_t i = 0; i < numRows; ++i) {
    grad.read(row + i, desc.value_width, memory.first);
    output.read(row + i, desc.value_width, memory.second);
    memory.along[i] = kernels.sumProducts(memory.first, memory.second,
                                          roundUp(desc.value_width, 16));
    float log[16];
    logs.read(row + i, 1, log);
    memory.logs[i] = log[0];
  }
  kernels.pack(query.getRows(row, numRows, desc.width), kernels.rows,
               memory.queryRows);
  kernels.pack(query.getElements(row, numRows, desc.width), kernels.columns,
               memory.queryElements);
  kernels.pack(grad.getRows(row, numRows, desc.value_width), kernels.rows,
               memory.gradRows);
  kernels.pack(grad.getElements(row, numRows, desc.value_width),
               kernels.columns, memory.gradElements);
  findFactors(row, numRows, mask, memory);
  sums.query.clear();
  int64_t end = getVisible(row + numRows - 1);
  bool leavesOut =
      desc.masked &&
      std::all_of(memory.logs, memory.logs + numRows, [](float log) {
        return log > kHiddenScore / 2 ||
               log == -std::numeric_limits<float>::infinity();
      });
  for (int64_t column = 0; column < end; column += kColumnBlock)
    if (!leavesOut || !isHidden(row, numRows, column, mask, memory))
      addBlock(row, numRows, column, mask, gradMask, memory, sums);
  for (int64_t i = 0; i < numRows; ++i) {
    sums.query.getRow(i, memory.first);
    gradQuery.write(row + i, desc.width, memory.first);
  }
}

/// The gradients of a head of K and V, and of all heads of Q that it serves.
void AttentionBackward::runHead(void *const *buffers, int64_t batch,
                                int64_t head, const Memory &memory) const {
  Sums sums = {{kernels, kRowBlock, desc.width, memory.gradQuery},
               {kernels, desc.columns, desc.width, memory.gradKey},
               {kernels, desc.columns, desc.value_width, memory.gradValue}};
  sums.key.clear();
  sums.value.clear();
  packColumns(HeadView(desc.k, buffers, batch, head),
              HeadView(desc.v, buffers, batch, head), memory);
  for (int64_t g = 0; g < desc.groups; ++g)
    for (int64_t row = 0; row < desc.rows; row += kRowBlock)
      runRows(buffers, batch, head * desc.groups + g, row, memory, sums);
  HeadView gradKey(desc.grad_k, buffers, batch, head);
  HeadView gradValue(desc.grad_v, buffers, batch, head);
  for (int64_t j = 0; j < desc.columns; ++j) {
    sums.key.getRow(j, memory.first);
    gradKey.write(j, desc.width, memory.first);
    sums.value.getRow(j, memory.first);
    gradValue.write(j, desc.value_width, memory.first);
  }
}

/// Blocks that are not seen have zeros there.
void AttentionBackward::clearMaskGradient(void *const *buffers, int64_t batch,
                                          int64_t head) const {
  if (!desc.mask_gradient)
    return;
  for (int64_t g = 0; g < desc.groups; ++g)
    HeadView(desc.grad_mask, buffers, batch, head * desc.groups + g)
        .clear(desc.rows, desc.columns);
}

void AttentionBackward::run(void *const *buffers, int64_t task,
                            void *scratch) const {
  Memory memory(*this, scratch);
  int64_t keyHeads = desc.heads / desc.groups;
  int64_t head = task % keyHeads;
  int64_t first = task / keyHeads;
  int64_t last = sumsOverBatch() ? desc.batch - 1 : first;
  clearMaskGradient(buffers, first, head);
  for (int64_t batch = first; batch <= last; ++batch)
    runHead(buffers, batch, head, memory);
}

std::unique_ptr<Attention>
regather::runtime::createAttentionBackward(const rg_attention_desc &desc) {
  return std::make_unique<AttentionBackward>(desc);
}
