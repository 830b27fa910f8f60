//===- Collectives.cpp - What collectives do to data ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The definitions in TGCollectiveOps.td, written down element by element.
//
//===----------------------------------------------------------------------===//

#include "Collectives.h"

#include "RankThreads.h"

#include <cmath>

using namespace mlir;
using namespace regather;
using namespace regather::interp;

/// One member of a bucket: a tensor of each rank of the group, by position.
using Tensors = SmallVector<TensorRef>;

//===----------------------------------------------------------------------===//
// Shards
//===----------------------------------------------------------------------===//

/// Copies rows `from`... of `source` along `dim` to rows `to`... of `target`;
/// stops at the end of the shorter, which drops or keeps padding.
static void copyRows(const Tensor &source, int64_t from, Tensor &target,
                     int64_t to, int64_t count, int64_t dim) {
  count = std::min({count, source.getDim(dim) - from, target.getDim(dim) - to});
  SmallVector<int64_t> box(source.getShape());
  box[dim] = count;
  if (count <= 0 || llvm::is_contained(box, 0))
    return;
  SmallVector<int64_t, 4> sourceStrides = getStrides(source.getShape());
  SmallVector<int64_t, 4> targetStrides = getStrides(target.getShape());
  SmallVector<int64_t> point(box.size(), 0);
  do {
    int64_t i = from * sourceStrides[dim], j = to * targetStrides[dim];
    for (size_t d = 0; d < box.size(); ++d) {
      i += point[d] * sourceStrides[d];
      j += point[d] * targetStrides[d];
    }
    target.store(j, source.load(i));
  } while (advance(point, box));
}

static void gather(const Tensors &inputs, Tensor &result, int64_t dim) {
  int64_t shard = inputs[0]->getDim(dim);
  for (auto [position, input] : llvm::enumerate(inputs))
    copyRows(*input, 0, result, position * shard, shard, dim);
}

static void scatter(const Tensor &whole, Tensor &result, int64_t position,
                    int64_t dim) {
  int64_t shard = result.getDim(dim);
  result.fill(0);
  copyRows(whole, position * shard, result, 0, shard, dim);
}

static void allToAll(const Tensors &inputs, Tensor &result, int64_t position,
                     int64_t splitDim, int64_t concatDim) {
  int64_t ranks = inputs.size();
  SmallVector<int64_t> shape(inputs[0]->getShape());
  shape[splitDim] = tg::getShardSize(shape[splitDim], ranks);
  for (auto [source, input] : llvm::enumerate(inputs)) {
    TensorRef piece = Tensor::create(input->getType(), shape);
    scatter(*input, *piece, position, splitDim);
    copyRows(*piece, 0, result, source * shape[concatDim], shape[concatDim],
             concatDim);
  }
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// -0 is smaller than +0, and a NaN wins.
template <typename T> static T getMaximum(T a, T b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) ? a : b;
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

/// Combines in rank order in the type T, divides, and rounds once.
template <typename T>
static void reduceFloats(const Tensors &inputs, Tensor &result,
                         tg::Reduction reduction) {
  ScalarType type = result.getType();
  for (int64_t i = 0, e = result.getNumElements(); i < e; ++i) {
    T total = static_cast<T>(loadAsDouble(type, inputs[0]->load(i)));
    for (const TensorRef &input : llvm::drop_begin(inputs)) {
      T value = static_cast<T>(loadAsDouble(type, input->load(i)));
      total = reduction == tg::Reduction::Max ? getMaximum(total, value)
                                              : total + value;
    }
    if (reduction == tg::Reduction::Avg)
      total /= static_cast<T>(inputs.size());
    result.store(i, roundFromDouble(type, total));
  }
}

static void reduceInts(const Tensors &inputs, Tensor &result,
                       tg::Reduction reduction) {
  unsigned width = result.getType().width;
  for (int64_t i = 0, e = result.getNumElements(); i < e; ++i) {
    uint64_t total = inputs[0]->load(i);
    for (const TensorRef &input : llvm::drop_begin(inputs)) {
      uint64_t value = input->load(i);
      // One bit is true or false, not 0 or -1.
      if (reduction == tg::Reduction::Sum)
        total += value;
      else if (width == 1)
        total |= value;
      else if (signExtend(value, width) > signExtend(total, width))
        total = value;
    }
    result.store(i, total & result.getType().getMask());
  }
}

static TensorRef reduce(const Tensors &inputs, tg::Reduction reduction,
                        std::optional<Type> accumulate) {
  ScalarType type = inputs[0]->getType();
  TensorRef result = Tensor::create(type, inputs[0]->getShape());
  if (!type.isFloat())
    reduceInts(inputs, *result, reduction);
  else if (accumulate ? accumulate->isF64() : type.kind == ScalarKind::F64)
    reduceFloats<double>(inputs, *result, reduction);
  else
    reduceFloats<float>(inputs, *result, reduction);
  return result;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

static void assign(Tensor &result, const Tensor &value) {
  std::copy(value.getData(),
            value.getData() +
                value.getNumElements() * value.getType().getBytes(),
            result.getData());
}

static void movePermuted(tg::PermuteOp op, const Tensors &inputs,
                         const Tensors &results) {
  for (const TensorRef &result : results)
    result->fill(0);
  for (auto [source, target] : llvm::zip(op.getSources(), op.getTargets()))
    assign(*results[target], *inputs[source]);
}

static void moveMember(Operation *op, const Tensors &inputs,
                       const Tensors &results) {
  TensorRef reduced;
  if (auto scatterOp = dyn_cast<tg::ReduceScatterOp>(op))
    reduced =
        reduce(inputs, scatterOp.getReduction(), scatterOp.getAccumulate());
  if (auto reduceOp = dyn_cast<tg::AllReduceOp>(op))
    reduced = reduce(inputs, reduceOp.getReduction(), reduceOp.getAccumulate());
  if (auto permute = dyn_cast<tg::PermuteOp>(op))
    return movePermuted(permute, inputs, results);
  for (auto [position, result] : llvm::enumerate(results)) {
    if (auto gatherOp = dyn_cast<tg::AllGatherOp>(op))
      gather(inputs, *result, gatherOp.getDim());
    else if (auto scatterOp = dyn_cast<tg::ReduceScatterOp>(op))
      scatter(*reduced, *result, position, scatterOp.getDim());
    else if (isa<tg::AllReduceOp>(op))
      assign(*result, *reduced);
    else if (auto exchange = dyn_cast<tg::AllToAllOp>(op))
      allToAll(inputs, *result, position, exchange.getSplitDim(),
               exchange.getConcatDim());
    else if (auto broadcast = dyn_cast<tg::BroadcastOp>(op))
      assign(*result, *inputs[broadcast.getRoot()]);
  }
}

void regather::interp::moveData(PendingCollective &collective) {
  Operation *op = collective.starters[0];
  for (size_t member = 0, e = collective.inputs[0].size(); member != e;
       ++member) {
    Tensors inputs, results;
    for (auto &tensors : collective.inputs)
      inputs.push_back(tensors[member]);
    for (auto &tensors : collective.results)
      results.push_back(tensors[member]);
    moveMember(op, inputs, results);
  }
}
