//===- Forward.cpp - Attention block by block -----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A task is a block of rows of one head. Per row, with the maximum m of the
// scores so far and the sum s of their exponentials:
//
//   for block of columns that the rows see:
//     S = scale * Q K^T, bounded, + mask
//     m' = max(m, max(S)), P = exp(S - m'), c = exp(m - m')
//     s = c s + sum(P), O = c O + P V, m = m'
//   O = O / s, L = m + log(s)
//
// Blocks that a mask hides are left out. If a row has seen nothing else, its
// share of them counts: all blocks are added then.
//
//===----------------------------------------------------------------------===//

#include "Attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace regather::runtime;

namespace {
class AttentionForward final : public Attention {
public:
  using Attention::Attention;

  int64_t getNumTasks() const override {
    return desc.batch * desc.heads * getRowBlocks();
  }
  size_t getScratchBytes() const override {
    return Memory(*this, nullptr).bytes;
  }
  void run(void *const *buffers, int64_t task, void *scratch) const override;

private:
  /// The scratch memory of a task.
  struct Memory {
    Memory(const AttentionForward &attention, void *scratch);
    float *query, *key, *value, *scores, *powers, *sums, *mask, *max, *sum;
    size_t bytes;
  };

  /// Long blocks pack less, short ones give more tasks. The bits of a row do
  /// not depend on it.
  int64_t getBlockRows() const {
    return desc.rows >= 4 * kRowBlock ? 2 * kRowBlock : kRowBlock;
  }
  int64_t getRowBlocks() const {
    return (desc.rows + getBlockRows() - 1) / getBlockRows();
  }
  bool addBlocks(int64_t row, int64_t numRows, const HeadView &key,
                 const HeadView &value, const HeadView &mask,
                 const Memory &memory, TiledSums &sums, bool leavesOut) const;
  void addBlock(int64_t row, int64_t numRows, int64_t column,
                int64_t numColumns, const HeadView &mask, const Memory &memory,
                TiledSums &sums) const;
};
} // namespace

AttentionForward::Memory::Memory(const AttentionForward &attention,
                                 void *scratch) {
  const BlockKernels &kernels = attention.kernels;
  const rg_attention_desc &desc = attention.desc;
  ScratchParts parts(scratch);
  int64_t blockRows = attention.getBlockRows();
  int64_t numRows = roundUp(blockRows, kernels.rows);
  int64_t numColumns = roundUp(kColumnBlock, kernels.columns);
  query = parts.take(numRows * desc.width);
  key = parts.take(numColumns * desc.width);
  value = parts.take(kColumnBlock * roundUp(desc.value_width, kernels.columns));
  scores = parts.take(blockRows * kColumnBlock);
  powers = parts.take(numRows * kColumnBlock);
  sums = parts.take(TiledSums::getSize(kernels, blockRows, desc.value_width));
  mask = parts.take(
      std::max(kColumnBlock, roundUp(desc.value_width, kernels.columns)));
  max = parts.take(blockRows);
  sum = parts.take(blockRows);
  bytes = parts.getBytes();
}

/// Adds what the rows see of a block of columns. Key and value are packed.
void AttentionForward::addBlock(int64_t row, int64_t numRows, int64_t column,
                                int64_t numColumns, const HeadView &mask,
                                const Memory &memory, TiledSums &sums) const {
  constexpr int64_t vector = 16;
  multiplyBlock(kernels, memory.query, memory.key, desc.width, numRows,
                numColumns, getVisibleInBlock(row, column), memory.scores,
                kColumnBlock);
  for (int64_t i = 0; i < numRows; ++i) {
    float *scores = memory.scores + i * kColumnBlock;
    int64_t visible = countVisible(row + i, column, numColumns);
    int64_t count = roundUp(visible, vector);
    if (desc.masked)
      mask.readMask(row + i, column, numColumns, memory.mask);
    float max =
        std::max(memory.max[i], makeScores(scores, visible, count,
                                           desc.masked ? memory.mask : nullptr,
                                           /*slopes=*/nullptr));
    // With nothing to see, -inf - -inf must not occur.
    bool isMasked = max == -std::numeric_limits<float>::infinity();
    float sum = kernels.exponentials(scores, count, isMasked ? 0.0f : max);
    std::fill(scores + count, scores + std::max(count, numColumns), 0.0f);
    if (max != memory.max[i] && memory.sum[i] != 0) {
      float factor[vector] = {memory.max[i]};
      kernels.exponentials(factor, vector, max);
      memory.sum[i] *= factor[0];
      sums.multiplyRow(i, factor[0]);
    }
    memory.max[i] = max;
    memory.sum[i] += sum;
  }
  kernels.pack({memory.scores, RG_F32, numRows, kColumnBlock, numColumns, 1},
               kernels.rows, memory.powers);
  sums.add(memory.powers, memory.value, 0, numRows, numColumns,
           {getVisibleInBlock(row, column)});
}

/// Adds all blocks that the rows see, but for hidden ones if it `leavesOut`
/// these. True if it has left out any.
bool AttentionForward::addBlocks(int64_t row, int64_t numRows,
                                 const HeadView &key, const HeadView &value,
                                 const HeadView &mask, const Memory &memory,
                                 TiledSums &sums, bool leavesOut) const {
  sums.clear();
  std::fill(memory.max, memory.max + numRows,
            -std::numeric_limits<float>::infinity());
  std::fill(memory.sum, memory.sum + numRows, 0.0f);
  bool hasLeftOut = false;
  int64_t end = getVisible(row + numRows - 1);
  for (int64_t column = 0; column < end; column += kColumnBlock) {
    int64_t numColumns = std::min(kColumnBlock, desc.columns - column);
    if (leavesOut &&
        hidesBlock(mask, row, numRows, column, numColumns, memory.mask)) {
      hasLeftOut = true;
      continue;
    }
    kernels.pack(key.getRows(column, numColumns, desc.width), kernels.columns,
                 memory.key);
    kernels.pack(value.getElements(column, numColumns, desc.value_width),
                 kernels.columns, memory.value);
    addBlock(row, numRows, column, numColumns, mask, memory, sums);
  }
  return hasLeftOut;
}

void AttentionForward::run(void *const *buffers, int64_t task,
                           void *scratch) const {
  Memory memory(*this, scratch);
  int64_t row = task % getRowBlocks() * getBlockRows();
  int64_t head = task / getRowBlocks() % desc.heads;
  int64_t batch = task / getRowBlocks() / desc.heads;
  int64_t numRows = std::min(getBlockRows(), desc.rows - row);
  HeadView query(desc.q, buffers, batch, head);
  HeadView key(desc.k, buffers, batch, head / desc.groups);
  HeadView value(desc.v, buffers, batch, head / desc.groups);
  HeadView mask(desc.masked ? desc.mask : desc.q, buffers, batch, head);
  HeadView output(desc.o, buffers, batch, head);
  bool hasLogs = desc.l.buffer >= 0;
  HeadView logs(hasLogs ? desc.l : desc.o, buffers, batch, head);

  TiledSums sums(kernels, getBlockRows(), desc.value_width, memory.sums);
  kernels.pack(query.getRows(row, numRows, desc.width), kernels.rows,
               memory.query);
  bool hasLeftOut = addBlocks(row, numRows, key, value, mask, memory, sums,
                              /*leavesOut=*/desc.masked != 0);
  if (hasLeftOut && std::any_of(memory.max, memory.max + numRows, [](float m) {
        return !(m > kHiddenScore / 2);
      }))
    addBlocks(row, numRows, key, value, mask, memory, sums,
              /*leavesOut=*/false);
  for (int64_t i = 0; i < numRows; ++i) {
    // The division rounds once, as in `x / sum`.
    float *values = memory.mask;
    sums.getRow(i, values);
    for (int64_t e = 0; e < desc.value_width; ++e)
      values[e] = memory.sum[i] == 0 ? 0.0f : values[e] / memory.sum[i];
    output.write(row + i, desc.value_width, values);
    if (hasLogs) {
      // In doubles, for which all libraries agree once it is rounded.
      auto log = static_cast<float>(std::log(double(memory.sum[i])) +
                                    double(memory.max[i]));
      logs.write(row + i, 1, &log);
    }
  }
}

std::unique_ptr<Attention>
regather::runtime::createAttentionForward(const rg_attention_desc &desc) {
  return std::make_unique<AttentionForward>(desc);
}
