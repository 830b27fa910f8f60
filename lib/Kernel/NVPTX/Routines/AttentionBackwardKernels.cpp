//===- AttentionBackwardKernels.cpp - Gradients of attention on GPUs ------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two launches, with the gradient G of the output. A block of the first one
// computes rows of the gradient of Q, and keeps D in scratch memory:
//
//   D = sum(G * O) along each row
//   for tile of columns that the block's rows see:
//     P = exp(scale * Q K^T + mask - L)
//     S = P * (G V^T - D) * scale
//     grad Q += S K
//
// A block of the second one computes columns of the gradients of K and V:
//
//   for head of Q that the head of K serves, tile of rows that see the columns:
//     P and S as above, transposed
//     grad V += P G, grad K += S Q
//
//===----------------------------------------------------------------------===//

#include "AttentionBlock.h"
#include "AttentionKernels.h"
#include "HeadMatrices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace regather;
using namespace regather::nvptx;

namespace {
/// What both kernels have in common.
class BackwardKernel {
public:
  BackwardKernel(const rg_attention_desc &desc, AttentionBlock &b)
      : desc(desc), b(b) {}

protected:
  /// P and S of a row and a column, with L and D of the row.
  std::pair<Value, Value> weigh(const HeadMatrices &head, Value score,
                                Value gradient, Value row, Value column,
                                Value log, Value sum);

  const rg_attention_desc &desc;
  AttentionBlock &b;
};

class QueryKernel : BackwardKernel {
public:
  using BackwardKernel::BackwardKernel;
  LogicalResult build();

private:
  VectorSums addTile(Value column, const HeadMatrices &head,
                     const VectorSums &sums);

  Value firstRow;
  SmallVector<Value> rows, logs, sums;
  SharedTile queries, gradients, keys, values, weights;
};

class KeyKernel : BackwardKernel {
public:
  using BackwardKernel::BackwardKernel;
  LogicalResult build();

private:
  struct Sums {
    VectorSums key, value;

    SmallVector<Value> pack() const;
    static Sums unpack(ValueRange values, size_t count);
  };

  /// Adds what all rows of a head contribute.
  Sums addHead(const HeadMatrices &head, const Sums &sums);
  Sums addTile(Value row, const HeadMatrices &head, const Sums &sums);

  Value firstColumn;
  SmallVector<Value> columns;
  SharedTile keys, values, queries, gradients, keyWeights, valueWeights;
};
} // namespace

std::pair<Value, Value> BackwardKernel::weigh(const HeadMatrices &head,
                                              Value score, Value gradient,
                                              Value row, Value column,
                                              Value log, Value sum) {
  score = b.maskScore(score, head.getMask(), row, column);
  Value weight = b.exp(arith::SubFOp::create(b, score, b.getShift(log)));
  Value change = arith::SubFOp::create(b, gradient, sum);
  change = arith::MulFOp::create(b, weight, change);
  return {weight, arith::MulFOp::create(b, change, b.number(desc.scale))};
}

//===----------------------------------------------------------------------===//
// The gradient of Q
//===----------------------------------------------------------------------===//

VectorSums QueryKernel::addTile(Value column, const HeadMatrices &head,
                                const VectorSums &gradQuery) {
  b.barrier();
  b.fillTile(keys, head.key, column);
  b.fillTile(values, head.value, column);
  b.barrier();
  SmallVector<Value> scores = b.multiply(queries, keys);
  SmallVector<Value> weightGradients = b.multiply(gradients, values);
  Value ownColumn = b.add(column, b.lane);
  for (int64_t i = 0; i != b.own; ++i)
    b.storeWeight(weights, i,
                  weigh(head, scores[i], weightGradients[i], rows[i], ownColumn,
                        logs[i], sums[i])
                      .second);
  b.barrier();
  return b.accumulate(gradQuery, weights, keys);
}

LogicalResult QueryKernel::build() {
  int64_t ownRows = AttentionBlock::getOwnPerBlock(desc);
  auto [outer, tile] = b.divide(b.block, llvm::divideCeil(desc.rows, ownRows));
  auto [batch, number] = b.divide(outer, desc.heads);
  HeadMatrices head(desc, b, batch, number,
                    b.divide(number, desc.groups).first);
  firstRow = b.mul(tile, ownRows);
  queries = b.makeTile(ownRows, desc.width);
  gradients = b.makeTile(ownRows, desc.value_width);
  keys = b.makeTile(AttentionBlock::kLanes, desc.width);
  values = b.makeTile(AttentionBlock::kLanes, desc.value_width);
  weights = b.makeWeights();
  b.fillTile(queries, head.query, firstRow);
  b.fillTile(gradients, head.gradOutput, firstRow);
  b.barrier();
  for (int64_t i = 0; i != b.own; ++i) {
    Value row = rows.emplace_back(b.add(firstRow, b.getOwn(i)));
    Value last = b.min(row, b.index(desc.rows - 1));
    logs.push_back(b.loadElement(*head.logs, last, b.index(0)));
    Value sum =
        sums.emplace_back(b.multiplyRow(gradients, i, head.output, row));
    Value isWriter =
        b.both(b.isLess(b.lane, b.index(1)), b.isLess(row, b.index(desc.rows)));
    auto branch = scf::IfOp::create(b, isWriter, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    b.store(sum, b.getScratch(), b.add(head.firstSum, row));
  }
  Value end = b.index(desc.columns);
  if (desc.causal)
    end = b.min(end, b.add(firstRow, ownRows));
  auto loop =
      scf::ForOp::create(b, b.index(0), end, b.index(AttentionBlock::kLanes),
                         b.makeSums(desc.width));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(b, addTile(loop.getInductionVar(), head,
                                    VectorSums(loop.getRegionIterArgs())));
  }
  for (int64_t i = 0; i != b.own; ++i)
    b.storeSums(VectorSums(loop.getResults()), i, head.gradQuery, rows[i],
                [](Value element) { return element; });
  return b.finish();
}

//===----------------------------------------------------------------------===//
// The gradients of K and V
//===----------------------------------------------------------------------===//

SmallVector<Value> KeyKernel::Sums::pack() const {
  SmallVector<Value> all = key;
  llvm::append_range(all, value);
  return all;
}

KeyKernel::Sums KeyKernel::Sums::unpack(ValueRange values, size_t count) {
  return {llvm::to_vector(values.take_front(count)),
          llvm::to_vector(values.drop_front(count))};
}

KeyKernel::Sums KeyKernel::addTile(Value row, const HeadMatrices &head,
                                   const Sums &previous) {
  b.barrier();
  b.fillTile(queries, head.query, row);
  b.fillTile(gradients, head.gradOutput, row);
  b.barrier();
  SmallVector<Value> scores = b.multiply(keys, queries);
  SmallVector<Value> weightGradients = b.multiply(values, gradients);
  Value ownRow = b.add(row, b.lane);
  Value last = b.min(ownRow, b.index(desc.rows - 1));
  Value log = b.loadElement(*head.logs, last, b.index(0));
  Value sum = b.load(b.getScratch(), b.add(head.firstSum, last));
  for (int64_t i = 0; i != b.own; ++i) {
    auto [weight, change] = weigh(head, scores[i], weightGradients[i], ownRow,
                                  columns[i], log, sum);
    b.storeWeight(valueWeights, i, weight);
    b.storeWeight(keyWeights, i, change);
  }
  b.barrier();
  return {b.accumulate(previous.key, keyWeights, queries),
          b.accumulate(previous.value, valueWeights, gradients)};
}

KeyKernel::Sums KeyKernel::addHead(const HeadMatrices &head, const Sums &sums) {
  // Tiles begin at multiples of their size.
  Value begin = b.index(0);
  if (desc.causal)
    begin = b.mul(b.divide(firstColumn, AttentionBlock::kLanes).first,
                  AttentionBlock::kLanes);
  auto loop = scf::ForOp::create(b, begin, b.index(desc.rows),
                                 b.index(AttentionBlock::kLanes), sums.pack());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Sums inner = Sums::unpack(loop.getRegionIterArgs(), sums.key.size());
  scf::YieldOp::create(b, addTile(loop.getInductionVar(), head, inner).pack());
  return Sums::unpack(loop.getResults(), sums.key.size());
}

LogicalResult KeyKernel::build() {
  int64_t ownColumns = AttentionBlock::getOwnPerBlock(desc);
  auto [outer, tile] =
      b.divide(b.block, llvm::divideCeil(desc.columns, ownColumns));
  auto [batch, keyHead] = b.divide(outer, desc.heads / desc.groups);
  firstColumn = b.mul(tile, ownColumns);
  Value firstHead = b.mul(keyHead, desc.groups);
  HeadMatrices first(desc, b, batch, firstHead, keyHead);
  keys = b.makeTile(ownColumns, desc.width);
  values = b.makeTile(ownColumns, desc.value_width);
  queries = b.makeTile(AttentionBlock::kLanes, desc.width);
  gradients = b.makeTile(AttentionBlock::kLanes, desc.value_width);
  keyWeights = b.makeWeights();
  valueWeights = b.makeWeights();
  b.fillTile(keys, first.key, firstColumn);
  b.fillTile(values, first.value, firstColumn);
  for (int64_t i = 0; i != b.own; ++i)
    columns.push_back(b.add(firstColumn, b.getOwn(i)));
  Sums sums = {b.makeSums(desc.width), b.makeSums(desc.value_width)};
  auto loop = scf::ForOp::create(b, b.index(0), b.index(desc.groups),
                                 b.index(1), sums.pack());
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    HeadMatrices head(desc, b, batch, b.add(firstHead, loop.getInductionVar()),
                      keyHead);
    Sums inner = Sums::unpack(loop.getRegionIterArgs(), sums.key.size());
    scf::YieldOp::create(b, addHead(head, inner).pack());
  }
  sums = Sums::unpack(loop.getResults(), sums.key.size());
  auto keep = [](Value element) { return element; };
  for (int64_t i = 0; i != b.own; ++i) {
    b.storeSums(sums.key, i, first.gradKey, columns[i], keep);
    b.storeSums(sums.value, i, first.gradValue, columns[i], keep);
  }
  return b.finish();
}

LogicalResult nvptx::buildAttentionBackward(const rg_attention_desc &desc,
                                            gpu::GPUModuleOp module,
                                            StringRef name) {
  int64_t own = AttentionBlock::getOwnPerBlock(desc);
  int64_t heads = desc.batch * desc.heads;
  int64_t scratchBytes =
      heads * desc.rows * static_cast<int64_t>(sizeof(float));
  AttentionBlock queryBlock(desc, module, name,
                            heads * llvm::divideCeil(desc.rows, own),
                            scratchBytes);
  if (failed(QueryKernel(desc, queryBlock).build()))
    return failure();
  AttentionBlock keyBlock(
      desc, module, (name + "_keys").str(),
      heads / desc.groups * llvm::divideCeil(desc.columns, own), scratchBytes);
  return KeyKernel(desc, keyBlock).build();
}
