//===- TensorCoreForward.cpp - Attention by tensor cores, forward ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block computes rows of one head, as in AttentionForwardKernel.cpp. Tiles of
// K arrive while P V is computed, and tiles of V while Q K^T is:
//
//   copy Q and the first tile of K
//   for tile of columns that the block's rows see:
//     wait for K, copy V
//     S = Q K^T
//     if m < max(S) by much: m' = max(S), c = exp(m - m'), s = c s, O = c O
//     P = exp(S - m'), s = s + P
//     wait for V, copy the next K
//     O = O + P V
//
//===----------------------------------------------------------------------===//

#include "TensorCoreAttention.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>

using namespace mlir;
using namespace regather;
using namespace regather::nvptx;

static constexpr float kLn2 = 0.693147181F;

/// Weights are 2 to this power at most: a maximum that is exceeded by less is
/// kept, so that the sums, which are many, need not be multiplied for most
/// tiles. That loses nothing, as all weights are divided by their sum.
static constexpr float kMaxExponent = 8;

namespace {
/// How much a block computes at a time.
struct ForwardSizes {
  /// Of a warp's rows.
  int64_t fragments;
  /// Of a tile.
  int64_t columns;

  explicit ForwardSizes(const rg_attention_desc &desc);
};

class TensorCoreForward : TensorCoreAttention {
public:
  TensorCoreForward(const rg_attention_desc &desc, AttentionBlock &b,
                    const ForwardSizes &sizes)
      : TensorCoreAttention(desc, b, Owner::Rows, sizes.fragments),
        sizes(sizes) {}

  LogicalResult build();

private:
  /// What a block carries from tile to tile: the maximum and the lane's sum of
  /// each row, and the rows of the result.
  struct State {
    SmallVector<Value> max, sum;
    Sums output;

    SmallVector<Value> pack() const;
    static State unpack(ValueRange values, size_t rows);
  };

  void addTile(Value column, Value end, State &state);
  /// Finds what is subtracted from the exponents of each row, and brings the
  /// state to that.
  void findMaxima(Sums &scores, State &state, SmallVector<Value> &shifts);
  /// Scores become weights, which are added to the sums of the rows.
  void weighTile(Sums &scores, State &state);
  void storeResults(State &state);

  ForwardSizes sizes;
  Value firstRow, zero;
  std::optional<HeadMatrices> head;
  HalfTile queries, keys, values;
};
} // namespace

ForwardSizes::ForwardSizes(const rg_attention_desc &desc) {
  // Two fragments read each tile of K and V half as often, if there are
  // registers for their sums, and rows.
  constexpr int64_t narrow = 128;
  fragments = desc.value_width <= narrow &&
                      desc.rows > TensorCoreAttention::getOwnPerBlock(1)
                  ? 2
                  : 1;
  columns = desc.value_width <= narrow / 2 ? 64 : 32;
}

SmallVector<Value> TensorCoreForward::State::pack() const {
  SmallVector<Value> values = max;
  llvm::append_range(values, sum);
  llvm::append_range(values, flatten(output));
  return values;
}

TensorCoreForward::State TensorCoreForward::State::unpack(ValueRange values,
                                                          size_t rows) {
  return {llvm::to_vector(values.take_front(rows)),
          llvm::to_vector(values.slice(rows, rows)),
          unflatten(values.drop_front(2 * rows))};
}

void TensorCoreForward::findMaxima(Sums &scores, State &state,
                                   SmallVector<Value> &shifts) {
  SmallVector<Value> factors;
  Value anyGrows;
  for (int64_t i = 0; i != countOwn(); ++i) {
    Value before = state.max[i], max = before;
    for (auto pair : getOwn(scores, i))
      for (Value *score : pair)
        max = cores.max(max, *score);
    max = cores.maxRow(max);
    // The difference is no number if both are -inf.
    Value growth = arith::SubFOp::create(b, max, before);
    Value grows = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, growth,
                                        b.number(kMaxExponent / unit));
    anyGrows = anyGrows ? arith::OrIOp::create(b, anyGrows, grows) : grows;
    state.max[i] = b.select(grows, max, before);
    shifts.push_back(
        arith::MulFOp::create(b, b.getShift(state.max[i]), b.number(-unit)));
    factors.push_back(weigh(before, shifts.back()));
  }
  auto getTypes = [](ArrayRef<Value> values) {
    return ValueRange(values).getTypes();
  };
  SmallVector<Value> all = state.sum;
  llvm::append_range(all, flatten(state.output));
  auto branch = scf::IfOp::create(b, getTypes(all), anyGrows,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, all);
  b.setInsertionPointToStart(branch.thenBlock());
  for (auto [i, factor] : llvm::enumerate(factors)) {
    auto scale = [&, factor = factor](Value &value) {
      value = arith::MulFOp::create(b, value, factor);
    };
    scale(state.sum[i]);
    for (auto pair : getOwn(state.output, static_cast<int64_t>(i)))
      for (Value *element : pair)
        scale(*element);
  }
  all = state.sum;
  llvm::append_range(all, flatten(state.output));
  scf::YieldOp::create(b, all);
  ValueRange results = branch.getResults();
  state.sum = llvm::to_vector(results.take_front(countOwn()));
  state.output = unflatten(results.drop_front(countOwn()));
}

void TensorCoreForward::weighTile(Sums &scores, State &state) {
  SmallVector<Value> shifts;
  findMaxima(scores, state, shifts);
  for (int64_t i = 0; i != countOwn(); ++i)
    for (auto pair : getOwn(scores, i))
      for (Value *score : pair) {
        *score = weigh(*score, shifts[i]);
        state.sum[i] = b.add(state.sum[i], *score);
      }
}

void TensorCoreForward::addTile(Value column, Value end, State &state) {
  // K has arrived, and all warps are done with V.
  cores.wait(0);
  b.barrier();
  cores.copy(values, zero, sizes.columns, getRows(head->value), column,
             nullptr);
  cores.commit();
  Sums scores = multiply(queries, keys, zero, sizes.columns);
  mask(scores, head->getMask(), firstRow, column);
  weighTile(scores, state);
  cores.wait(0);
  b.barrier();
  Value next = b.add(column, sizes.columns);
  auto branch =
      scf::IfOp::create(b, b.isLess(next, end), /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    cores.copy(keys, zero, sizes.columns, getRows(head->key), next, nullptr);
    cores.commit();
  }
  accumulate(state.output, scores, values, zero);
}

void TensorCoreForward::storeResults(State &state) {
  SmallVector<Value> factors;
  forEachOwn([&](int64_t i, Value number) {
    Value row = b.add(firstRow, number);
    Value sum = cores.sumRow(state.sum[i]);
    Value isNone =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, b.number(0));
    Value inverse = arith::DivFOp::create(b, b.number(1), sum);
    factors.push_back(b.select(isNone, b.number(0), inverse));
    if (!head->logs)
      return;
    Value log = cores.fma(state.max[i], b.number(unit * kLn2),
                          math::LogOp::create(b, sum));
    log = b.select(isNone, b.number(-INFINITY), log);
    Value isWriter = b.both(b.isLess(cores.column, b.index(1)),
                            b.isLess(row, b.index(desc.rows)));
    auto branch = scf::IfOp::create(b, isWriter, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    b.storeElement(*head->logs, row, zero, log);
  });
  store(state.output, head->output, firstRow, factors);
}

LogicalResult TensorCoreForward::build() {
  int64_t rows = getOwnPerBlock(fragments);
  int64_t tiles = llvm::divideCeil(desc.rows, rows);
  auto [outer, tile] = b.divide(b.block, tiles);
  auto [batch, number] = b.divide(outer, desc.heads);
  head.emplace(desc, b, batch, number, b.divide(number, desc.groups).first);
  // The rows that see most columns come first, so that blocks end at about the
  // same time.
  if (desc.causal)
    tile = arith::SubIOp::create(b, b.index(tiles - 1), tile);
  firstRow = b.mul(tile, rows);
  zero = b.index(0);
  queries = cores.makeTile(rows, desc.width);
  keys = cores.makeTile(sizes.columns, desc.width);
  values = cores.makeTile(sizes.columns, desc.value_width);
  cores.copy(queries, zero, rows, getRows(head->query), firstRow, nullptr);
  cores.copy(keys, zero, sizes.columns, getRows(head->key), zero, nullptr);
  cores.commit();
  auto own = static_cast<size_t>(countOwn());
  State state = {SmallVector<Value>(own, b.number(-INFINITY)),
                 SmallVector<Value>(own, b.number(0)),
                 makeSums(desc.value_width)};
  Value end = b.index(desc.columns);
  if (desc.causal)
    end = b.min(end, b.add(firstRow, rows));
  auto loop =
      scf::ForOp::create(b, zero, end, b.index(sizes.columns), state.pack());
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    State inner = State::unpack(loop.getRegionIterArgs(), own);
    addTile(loop.getInductionVar(), end, inner);
    scf::YieldOp::create(b, inner.pack());
  }
  state = State::unpack(loop.getResults(), own);
  storeResults(state);
  return b.finish();
}

LogicalResult nvptx::buildTensorCoreForward(const rg_attention_desc &desc,
                                            gpu::GPUModuleOp module,
                                            StringRef name) {
  ForwardSizes sizes(desc);
  int64_t tiles = llvm::divideCeil(
      desc.rows, TensorCoreAttention::getOwnPerBlock(sizes.fragments));
  AttentionBlock block(desc, module, name, desc.batch * desc.heads * tiles,
                       /*scratchBytes=*/0);
  return TensorCoreForward(desc, block, sizes).build();
}
