//===- RankGroups.cpp - Groups of ranks along axes ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankGroups.h"

using namespace regather::runtime;

int64_t regather::runtime::getPosition(const rg_axes &axes, int64_t rank) {
  int64_t position = 0;
  for (int32_t k = 0; k < axes.count; ++k)
    position =
        position * axes.sizes[k] + rank / axes.strides[k] % axes.sizes[k];
  return position;
}

std::vector<int32_t> regather::runtime::getGroup(const rg_axes &axes,
                                                 int64_t rank) {
  int64_t first = rank;
  for (int32_t k = 0; k < axes.count; ++k)
    first -= rank / axes.strides[k] % axes.sizes[k] * axes.strides[k];
  std::vector<int32_t> group = {int32_t(first)};
  for (int32_t k = 0; k < axes.count; ++k) {
    std::vector<int32_t> next;
    for (int32_t member : group)
      for (int64_t i = 0; i < axes.sizes[k]; ++i)
        next.push_back(int32_t(member + i * axes.strides[k]));
    group = std::move(next);
  }
  return group;
}
