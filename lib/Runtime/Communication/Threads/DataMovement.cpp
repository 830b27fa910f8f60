//===- DataMovement.cpp - What a collective does to its buffers -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DataMovement.h"

#include "Communication/Reduction.h"
#include "StridedCopy.h"

#include <algorithm>

using namespace regather::runtime;

namespace {

/// One member of a collective with the buffers of all ranks.
struct Part {
  const Collective &collective;
  const Member &member;
  const std::vector<std::vector<Buffers>> &buffers;
  size_t index;
  int64_t position;

  int64_t getRanks() const { return int64_t(buffers.size()); }
  const char *getInput(int64_t rank) const {
    return buffers[rank][index].input;
  }
  char *getOutput() const { return buffers[position][index].output; }
  int64_t getElementSize() const {
    return int64_t(rg_dtype_size(member.dtype));
  }
};

/// Product of the sizes of the dimensions begin..end-1.
int64_t getGemm(const Shape &shape, int64_t begin, int64_t end) {
  int64_t product = 1;
  for (int64_t dim = begin; dim < end; ++dim)
    product *= shape[dim];
  return product;
}

/// Sees `shape` as [outer, first, middle, second, inner bytes], where first and
/// second are the sizes of the dimensions `first` < `second`.
View getView(const Shape &shape, int64_t first, int64_t second,
             int64_t elementSize) {
  int64_t rank = int64_t(shape.size());
  return {getGemm(shape, 0, first), shape[first],
          getGemm(shape, first + 1, second), shape[second],
          getGemm(shape, second + 1, rank) * elementSize};
}

/// Sees `shape` as [outer, 1, 1, size of `dim`, inner bytes].
View getView(const Shape &shape, int64_t dim, int64_t elementSize) {
  int64_t rank = int64_t(shape.size());
  return {getGemm(shape, 0, dim), 1, 1, shape[dim],
          getGemm(shape, dim + 1, rank) * elementSize};
}

/// Number of elements of shard `index` that are not padding.
int64_t getValidSize(int64_t size, int64_t shard, int64_t index) {
  return std::clamp(size - shard * index, int64_t(0), shard);
}

/// The whole buffers, as one run of bytes.
View getWhole(const Part &part) {
  const Shape &shape = part.member.outputShape;
  return {1, 1, 1, 1,
          getGemm(shape, 0, int64_t(shape.size())) * part.getElementSize()};
}

void copyWhole(const Part &part, int64_t source) {
  View whole = getWhole(part);
  copyBox(whole, part.getInput(source), whole, {}, part.getOutput(), whole, {});
}

void allGather(const Part &part) {
  int64_t dim = part.collective.dim;
  View source = getView(part.member.inputShape, dim, part.getElementSize());
  View target = getView(part.member.outputShape, dim, part.getElementSize());
  int64_t shard = source[3], size = target[3];
  for (int64_t rank = 0; rank < part.getRanks(); ++rank) {
    View box = source;
    box[3] = getValidSize(size, shard, rank);
    copyBox(box, part.getInput(rank), source, {}, part.getOutput(), target,
            {0, 0, 0, shard * rank, 0});
  }
}

ReductionType getReductionType(const Part &part) {
  return {part.collective.reduction, part.member.dtype,
          part.collective.accumulate};
}

void reduceScatter(const Part &part) {
  int64_t dim = part.collective.dim;
  View source = getView(part.member.inputShape, dim, part.getElementSize());
  View target = getView(part.member.outputShape, dim, part.getElementSize());
  int64_t shard = target[3], inner = target[4];
  int64_t valid = getValidSize(source[3], shard, part.position);
  std::vector<const char *> inputs(part.getRanks());
  std::vector<char *> outputs(1);
  for (int64_t outer = 0; valid && outer < source[0]; ++outer) {
    int64_t offset = (outer * source[3] + part.position * shard) * inner;
    for (int64_t rank = 0; rank < part.getRanks(); ++rank)
      inputs[rank] = part.getInput(rank) + offset;
    outputs[0] = part.getOutput() + outer * shard * inner;
    reduceRun(getReductionType(part), inputs, outputs,
              valid * inner / part.getElementSize());
  }
  View padding = target;
  padding[3] = shard - valid;
  clearBox(padding, part.getOutput(), target, {0, 0, 0, valid, 0});
}

void allReduce(const Part &part) {
  int64_t elements = getWhole(part)[4] / part.getElementSize();
  int64_t shard = getShardSize(elements, part.getRanks());
  int64_t count = getValidSize(elements, shard, part.position);
  if (!count)
    return;
  int64_t offset = part.position * shard * part.getElementSize();
  std::vector<const char *> inputs;
  std::vector<char *> outputs;
  for (const std::vector<Buffers> &members : part.buffers) {
    inputs.push_back(members[part.index].input + offset);
    outputs.push_back(members[part.index].output + offset);
  }
  reduceRun(getReductionType(part), inputs, outputs, count);
}

/// Piece `position` of every rank's input goes to the place of the rank.
void exchangeAlongOneDim(const Part &part) {
  View view = getView(part.member.inputShape, part.collective.splitDim,
                      part.getElementSize());
  View box = view;
  box[3] = view[3] / part.getRanks();
  for (int64_t rank = 0; rank < part.getRanks(); ++rank)
    copyBox(box, part.getInput(rank), view,
            {0, 0, 0, box[3] * part.position, 0}, part.getOutput(), view,
            {0, 0, 0, box[3] * rank, 0});
}

void allToAll(const Part &part) {
  int64_t splitDim = part.collective.splitDim;
  int64_t concatDim = part.collective.concatDim;
  if (splitDim == concatDim)
    return exchangeAlongOneDim(part);

  auto [first, second] = std::minmax(splitDim, concatDim);
  View source =
      getView(part.member.inputShape, first, second, part.getElementSize());
  View target =
      getView(part.member.outputShape, first, second, part.getElementSize());
  // Places of the two dimensions in a view.
  int split = splitDim < concatDim ? 1 : 3;
  int concat = 4 - split;
  int64_t shard = target[split];
  int64_t valid = getValidSize(source[split], shard, part.position);
  for (int64_t rank = 0; rank < part.getRanks(); ++rank) {
    View box = source;
    box[split] = valid;
    box[concat] = getValidSize(target[concat], source[concat], rank);
    Offset sourceOffset = {}, targetOffset = {};
    sourceOffset[split] = shard * part.position;
    targetOffset[concat] = source[concat] * rank;
    copyBox(box, part.getInput(rank), source, sourceOffset, part.getOutput(),
            target, targetOffset);
  }
  View padding = target;
  padding[split] = shard - valid;
  Offset offset = {};
  offset[split] = valid;
  clearBox(padding, part.getOutput(), target, offset);
}

void permute(const Part &part) {
  const std::vector<int32_t> &targets = part.collective.targets;
  auto found = std::find(targets.begin(), targets.end(), part.position);
  if (found != targets.end())
    return copyWhole(part, part.collective.sources[found - targets.begin()]);
  View whole = getWhole(part);
  clearBox(whole, part.getOutput(), whole, {});
}

} // namespace

void regather::runtime::runPart(
    const Collective &collective,
    const std::vector<std::vector<Buffers>> &buffers, int64_t position) {
  for (size_t index = 0; index < collective.members.size(); ++index) {
    Part part = {collective, collective.members[index], buffers, index,
                 position};
    switch (collective.kind) {
    case RG_ALL_GATHER:
      allGather(part);
      break;
    case RG_REDUCE_SCATTER:
      reduceScatter(part);
      break;
    case RG_ALL_REDUCE:
      allReduce(part);
      break;
    case RG_ALL_TO_ALL:
      allToAll(part);
      break;
    case RG_BROADCAST:
      copyWhole(part, collective.root);
      break;
    case RG_PERMUTE:
      permute(part);
      break;
    }
  }
}
