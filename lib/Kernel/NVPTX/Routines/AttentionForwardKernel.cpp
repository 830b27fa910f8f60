//===- AttentionForwardKernel.cpp - Attention on GPUs ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block computes rows of one head; AttentionBlock.h says how they are shared.
// Per row, with the maximum m of the scores so far and the sum s of their
// exponentials, of which each lane has those of its columns:
//
//   for tile of columns that the block's rows see:
//     S = scale * Q K^T + mask
//     m' = max(m, max(S)), P = exp(S - m'), c = exp(m - m')
//     s = c s + P, O = c O + P V, m = m'
//   s = sum of s over the lanes, O = O / s, L = m + log(s)
//
//===----------------------------------------------------------------------===//

#include "AttentionBlock.h"
#include "AttentionKernels.h"
#include "HeadMatrices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace regather;
using namespace regather::nvptx;

namespace {
class ForwardKernel {
public:
  ForwardKernel(const rg_attention_desc &desc, AttentionBlock &b)
      : desc(desc), b(b),
        rowTiles(llvm::divideCeil(desc.rows,
                                  AttentionBlock::getOwnPerBlock(desc))) {}

  LogicalResult build();

private:
  /// What a block carries from tile to tile: the maximum and the lane's sum of
  /// each row, and the rows of the result.
  struct State {
    SmallVector<Value> max, sum;
    VectorSums output;

    SmallVector<Value> pack() const;
    static State unpack(ValueRange values, size_t rows);
  };

  void addTile(Value column, State &state);
  void storeResults(State &state);

  const rg_attention_desc &desc;
  AttentionBlock &b;
  int64_t rowTiles;
  Value firstRow;
  std::optional<HeadMatrices> head;
  SharedTile queries, keys, values, weights;
};
} // namespace

SmallVector<Value> ForwardKernel::State::pack() const {
  SmallVector<Value> values = max;
  llvm::append_range(values, sum);
  llvm::append_range(values, output);
  return values;
}

ForwardKernel::State ForwardKernel::State::unpack(ValueRange values,
                                                  size_t rows) {
  return {llvm::to_vector(values.take_front(rows)),
          llvm::to_vector(values.slice(rows, rows)),
          llvm::to_vector(values.drop_front(2 * rows))};
}

void ForwardKernel::addTile(Value column, State &state) {
  b.barrier();
  b.fillTile(keys, head->key, column);
  b.fillTile(values, head->value, column);
  b.barrier();
  SmallVector<Value> scores = b.multiply(queries, keys);
  Value ownColumn = b.add(column, b.lane);
  for (int64_t i = 0; i != b.own; ++i) {
    Value row = b.add(firstRow, b.getOwn(i));
    Value score = b.maskScore(scores[i], head->getMask(), row, ownColumn);
    Value max = b.max(state.max[i], b.maxLanes(score));
    Value shift = b.getShift(max);
    Value weight = b.exp(arith::SubFOp::create(b, score, shift));
    Value factor = b.exp(arith::SubFOp::create(b, state.max[i], shift));
    state.sum[i] =
        b.add(arith::MulFOp::create(b, state.sum[i], factor), weight);
    state.max[i] = max;
    b.scale(state.output, i, factor);
    b.storeWeight(weights, i, weight);
  }
  b.barrier();
  state.output = b.accumulate(state.output, weights, values);
}

void ForwardKernel::storeResults(State &state) {
  for (int64_t i = 0; i != b.own; ++i) {
    Value row = b.add(firstRow, b.getOwn(i));
    Value sum = b.sumLanes(state.sum[i]);
    Value isNone =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, b.number(0));
    b.storeSums(state.output, i, head->output, row, [&](Value element) {
      Value quotient = arith::DivFOp::create(b, element, sum);
      return b.select(isNone, b.number(0), quotient);
    });
    if (!head->logs)
      continue;
    Value log = b.add(math::LogOp::create(b, sum), state.max[i]);
    log = b.select(isNone, b.number(-INFINITY), log);
    Value isWriter =
        b.both(b.isLess(b.lane, b.index(1)), b.isLess(row, b.index(desc.rows)));
    auto branch = scf::IfOp::create(b, isWriter, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    b.storeElement(*head->logs, row, b.index(0), log);
  }
}

LogicalResult ForwardKernel::build() {
  int64_t rows = AttentionBlock::getOwnPerBlock(desc);
  auto [outer, tile] = b.divide(b.block, rowTiles);
  auto [batch, number] = b.divide(outer, desc.heads);
  head.emplace(desc, b, batch, number, b.divide(number, desc.groups).first);
  firstRow = b.mul(tile, rows);
  queries = b.makeTile(rows, desc.width);
  keys = b.makeTile(AttentionBlock::kLanes, desc.width);
  values = b.makeTile(AttentionBlock::kLanes, desc.value_width);
  weights = b.makeWeights();
  b.fillTile(queries, head->query, firstRow);
  auto own = static_cast<size_t>(b.own);
  State state = {SmallVector<Value>(own, b.number(-INFINITY)),
                 SmallVector<Value>(own, b.number(0)),
                 b.makeSums(desc.value_width)};
  Value end = b.index(desc.columns);
  if (desc.causal)
    end = b.min(end, b.add(firstRow, rows));
  auto loop = scf::ForOp::create(b, b.index(0), end,
                                 b.index(AttentionBlock::kLanes), state.pack());
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    State inner = State::unpack(loop.getRegionIterArgs(), own);
    addTile(loop.getInductionVar(), inner);
    scf::YieldOp::create(b, inner.pack());
  }
  state = State::unpack(loop.getResults(), own);
  storeResults(state);
  return b.finish();
}

LogicalResult nvptx::buildAttentionForward(const rg_attention_desc &desc,
                                           gpu::GPUModuleOp module,
                                           StringRef name) {
  int64_t tiles =
      llvm::divideCeil(desc.rows, AttentionBlock::getOwnPerBlock(desc));
  AttentionBlock block(desc, module, name, desc.batch * desc.heads * tiles,
                       /*scratchBytes=*/0);
  return ForwardKernel(desc, block).build();
}
