//===- RankGroups.cpp - Groups of ranks along axes ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankGroups.h"

#include "regather/Support/MeshRanks.h"

#include <algorithm>

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

Failure regather::runtime::checkAxes(const rg_program &program, int32_t ranks) {
  for (int64_t i = 0; i < program.axes_count; ++i) {
    const rg_axes &axes = program.axes[i];
    int64_t last = 0;
    for (int32_t k = 0; k < axes.count; ++k) {
      if (axes.sizes[k] < 1 || axes.strides[k] < 1)
        return Failure("axes have sizes or strides below 1", RG_ERROR_ARGUMENT);
      last += (axes.sizes[k] - 1) * axes.strides[k];
    }
    if (last >= ranks)
      return Failure("axes have more members than there are ranks",
                     RG_ERROR_ARGUMENT);
  }
  return Failure();
}

Result<int32_t> regather::runtime::chooseNumRanks(const rg_program &program,
                                                  int32_t wanted) {
  int32_t ranks = wanted ? wanted : std::max(program.ranks, 1);
  if (program.ranks && ranks != program.ranks)
    return Failure("the program was compiled for " +
                       std::to_string(program.ranks) + " ranks, not for " +
                       std::to_string(ranks),
                   RG_ERROR_ARGUMENT);
  if (Failure failure = checkAxes(program, ranks))
    return failure;
  return ranks;
}
