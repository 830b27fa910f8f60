//===- BlockPlan.cpp - How a kernel is cut into blocks --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/Transforms/BlockPlan.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace regather;
using namespace regather::kernel;

/// Block sizes that are no divisors are multiples of this.
static constexpr int64_t kSizeMultiple = 16;

int64_t BlockPlan::getNumBlocks() const {
  int64_t count = 1;
  for (const BlockLevel &level : levels)
    count *= level.getNumBlocks();
  return count;
}

/// Bytes of one row of all values that have rows.
static int64_t getRowBytes(tg::KernelOp kernel, const RowCut &cut) {
  int64_t bytes = 0;
  auto add = [&](Type type) {
    bytes += tg::getTensorBytes(cast<RankedTensorType>(type)) / cut.rows;
  };
  for (auto [argument, dim] :
       llvm::zip_equal(kernel.getArguments(), cut.arguments))
    if (dim)
      add(argument.getType());
  for (const auto &[op, split] : cut.splits)
    for (auto [result, dim] : llvm::zip_equal(op->getResults(), split.results))
      if (dim && !isa<tensor::EmptyOp>(op))
        add(result.getType());
  return std::max<int64_t>(bytes, 1);
}

/// The fewest rows with which no piece of an argument or result is too short.
static int64_t getMinSize(tg::KernelOp kernel, const RowCut &cut,
                          int64_t minPieceBytes) {
  int64_t size = 1;
  auto visit = [&](Type type, std::optional<int64_t> dim) {
    auto tensor = cast<RankedTensorType>(type);
    if (!dim || llvm::all_of(tensor.getShape().take_front(*dim),
                             [](int64_t outer) { return outer == 1; }))
      return;
    int64_t bytes = tg::getTensorBytes(tensor) / cut.rows;
    for (int64_t outer : tensor.getShape().take_front(*dim))
      bytes /= std::max<int64_t>(outer, 1);
    size = std::max(size, int64_t(llvm::divideCeil(
                              minPieceBytes, std::max<int64_t>(bytes, 1))));
  };
  for (auto [type, dim] :
       llvm::zip_equal(kernel.getArgumentTypes(), cut.arguments))
    visit(type, dim);
  for (auto [type, dim] : llvm::zip_equal(kernel.getResultTypes(), cut.results))
    visit(type, dim);
  return std::min(size, cut.rows);
}

/// A size near `wanted` that divides the rows, or else leaves one smaller
/// block, which needs code of its own.
static int64_t roundSize(int64_t rows, int64_t wanted) {
  if (wanted >= rows)
    return rows;
  for (int64_t size = wanted; size > wanted / 2; --size)
    if (rows % size == 0)
      return size;
  return wanted < kSizeMultiple ? wanted
                                : wanted / kSizeMultiple * kSizeMultiple;
}

BlockPlan kernel::planBlocks(tg::KernelOp kernel, const BlockLimits &limits) {
  separateConstants(kernel);
  BlockPlan plan;
  plan.block = kernel.clone();
  std::optional<RowCut> cut = findRowCut(*plan.block);
  while (cut) {
    BlockLevel level;
    int64_t wanted =
        std::max<int64_t>(limits.bytes / getRowBytes(*plan.block, *cut), 1);
    wanted =
        std::max(wanted, getMinSize(*plan.block, *cut, limits.minPieceBytes));
    level.size = roundSize(cut->rows, wanted);
    OwningOpRef<tg::KernelOp> whole = std::move(plan.block);
    plan.block = buildRowBlock(*whole, *cut, level.size);
    if (int64_t remainder = cut->rows % level.size)
      plan.lastBlock = buildRowBlock(*whole, *cut, remainder);
    level.cut = std::move(*cut);
    level.cut.splits.clear();
    cut.reset();
    // A row may still be too much.
    if (level.size == 1 && level.cut.rows > 1)
      cut = findRowCut(*plan.block);
    plan.levels.push_back(std::move(level));
  }
  return plan;
}
