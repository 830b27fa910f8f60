//===- RankGroups.cpp - Groups of ranks along axes ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankGroups.h"

#include "regather/Support/MeshRanks.h"

using namespace regather;
using namespace regather::runtime;

static std::vector<MeshAxis> toMeshAxes(const rg_axes &axes) {
  std::vector<MeshAxis> list;
  for (int32_t k = 0; k < axes.count; ++k)
    list.push_back({axes.sizes[k], axes.strides[k]});
  return list;
}

int64_t regather::runtime::getPosition(const rg_axes &axes, int64_t rank) {
  return getIndexInGroup(rank, toMeshAxes(axes));
}

std::vector<int32_t> regather::runtime::getGroup(const rg_axes &axes,
                                                 int64_t rank) {
  std::vector<int64_t> group = computeGroup(rank, toMeshAxes(axes));
  return std::vector<int32_t>(group.begin(), group.end());
}
