//===- CollectiveCase.cpp - Collectives to be tried -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CollectiveCase.h"

using namespace regather::runtime;

static constexpr rg_dtype kTypes[] = {RG_F32, RG_F64, RG_BF16, RG_F16, RG_I1,
                                      RG_I8,  RG_I16, RG_I32,  RG_I64};

static bool isFloatingPoint(rg_dtype dtype) {
  return dtype == RG_F32 || dtype == RG_F64 || dtype == RG_BF16 ||
         dtype == RG_F16;
}

static Shape shard(Shape shape, int64_t dim, int32_t ranks) {
  shape[size_t(dim)] = getShardSize(shape[size_t(dim)], ranks);
  return shape;
}

/// Gathers and scatters along each dimension, even, uneven, short and empty.
static void addGathers(int32_t ranks, std::vector<CollectiveCase> &cases) {
  for (int64_t size : {0, 1, 3, 5, 8, 12})
    for (int64_t dim : {0, 1, 2}) {
      Shape shape = {3, 2, 4};
      shape[size_t(dim)] = size;
      Shape part = shard(shape, dim, ranks);
      CollectiveCase gather;
      gather.dim = dim;
      // Members of several types travel together.
      gather.members = {{RG_F32, part, shape}, {RG_I1, part, shape}};
      CollectiveCase scatter = gather;
      scatter.kind = RG_REDUCE_SCATTER;
      scatter.members = {{RG_BF16, shape, part}, {RG_I32, shape, part}};
      for (bool isInPlace : {false, true}) {
        if (isInPlace && dim)
          continue;
        gather.isInPlace = scatter.isInPlace = isInPlace;
        cases.push_back(gather);
        cases.push_back(scatter);
      }
    }
}

static void addReductions(int32_t ranks, std::vector<CollectiveCase> &cases) {
  for (rg_dtype dtype : kTypes)
    for (rg_reduction reduction : {RG_SUM, RG_AVG, RG_MAX})
      for (rg_dtype accumulate : {RG_DTYPE_AUTO, RG_F64}) {
        if (!isFloatingPoint(dtype) &&
            (reduction == RG_AVG || accumulate != RG_DTYPE_AUTO))
          continue;
        CollectiveCase item;
        item.kind = RG_ALL_REDUCE;
        item.reduction = reduction;
        item.accumulate = accumulate;
        for (int64_t size : {0, 1, 67, 600}) {
          item.members.push_back({dtype, {size}, {size}});
          item.isInPlace = !item.isInPlace;
          cases.push_back(item);
        }
        item.kind = RG_REDUCE_SCATTER;
        item.dim = 1;
        Shape shape = {2, 7, 3};
        item.members = {{dtype, shape, shard(shape, 1, ranks)}};
        item.isInPlace = false;
        cases.push_back(item);
      }
}

static void addExchanges(int32_t ranks, std::vector<CollectiveCase> &cases) {
  for (int64_t split = 0; split < 4; ++split)
    for (int64_t concat = 0; concat < 4; ++concat)
      for (int64_t extra : {0, 1, 2}) {
        CollectiveCase item;
        item.kind = RG_ALL_TO_ALL;
        item.splitDim = split;
        item.concatDim = concat;
        Shape input = {2, 3, 2, 3}, output = input;
        if (split == concat) {
          input[size_t(split)] = 2 * ranks;
          output = input;
        } else {
          // The gathered size is short by `extra`, if a shard still begins.
          input[size_t(split)] = 2 * ranks + extra;
          input[size_t(concat)] = 3;
          output = shard(input, split, ranks);
          output[size_t(concat)] =
              3 * ranks - (ranks > 1 || extra < 1 ? extra : 0);
          if (getShardSize(output[size_t(concat)], ranks) != 3)
            output[size_t(concat)] = 3 * ranks;
        }
        item.members = {{RG_F16, input, output}, {RG_I64, input, output}};
        cases.push_back(item);
      }
  CollectiveCase broadcast;
  broadcast.kind = RG_BROADCAST;
  broadcast.members = {{RG_F32, {5}, {5}}, {RG_I8, {0}, {0}}};
  for (broadcast.root = 0; broadcast.root < ranks; ++broadcast.root)
    for (bool isInPlace : {false, true}) {
      broadcast.isInPlace = isInPlace;
      cases.push_back(broadcast);
    }
  CollectiveCase permute;
  permute.kind = RG_PERMUTE;
  permute.members = {{RG_F64, {3}, {3}}, {RG_I8, {7}, {7}}};
  for (int32_t rank = 0; rank < ranks; ++rank) {
    permute.sources.push_back(rank);
    permute.targets.push_back((rank + 1) % ranks);
  }
  cases.push_back(permute);
  // Somebody gets nothing, and somebody its own.
  permute.sources = {ranks - 1};
  permute.targets = {ranks - 1};
  cases.push_back(permute);
}

std::vector<CollectiveCase>
regather::runtime::getCollectiveCases(int32_t ranks) {
  std::vector<CollectiveCase> cases;
  addGathers(ranks, cases);
  addReductions(ranks, cases);
  addExchanges(ranks, cases);
  return cases;
}
