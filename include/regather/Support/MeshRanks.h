//===- MeshRanks.h - Ranks along the axes of a mesh -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dialect, the host of a training and the runtime number ranks alike: the
// mesh is a row-major grid, and a group varies along some of its axes, the last
// of which varies fastest.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_SUPPORT_MESHRANKS_H
#define REGATHER_SUPPORT_MESHRANKS_H

#include <cstdint>
#include <utility>
#include <vector>

namespace regather {

/// One axis of a mesh.
struct MeshAxis {
  int64_t size = 1;
  /// The distance between ranks that are neighbours along the axis.
  int64_t stride = 1;
};

/// The strides of axes of these sizes, all axes of a mesh.
template <typename Sizes>
std::vector<MeshAxis> getMeshAxes(const Sizes &sizes) {
  std::vector<MeshAxis> axes;
  for (int64_t size : sizes)
    axes.push_back({size, 1});
  for (size_t i = axes.size(); i > 1; --i)
    axes[i - 2].stride = axes[i - 1].stride * axes[i - 1].size;
  return axes;
}

/// The position of `rank` in its group along `axes`.
inline int64_t getIndexInGroup(int64_t rank,
                               const std::vector<MeshAxis> &axes) {
  int64_t index = 0;
  for (MeshAxis axis : axes)
    index = index * axis.size + rank / axis.stride % axis.size;
  return index;
}

/// The ranks of the group of `rank` along `axes`, by position. Linear in their
/// number.
inline std::vector<int64_t> computeGroup(int64_t rank,
                                         const std::vector<MeshAxis> &axes) {
  int64_t first = rank;
  for (MeshAxis axis : axes)
    first -= rank / axis.stride % axis.size * axis.stride;
  std::vector<int64_t> group = {first};
  for (MeshAxis axis : axes) {
    std::vector<int64_t> next;
    next.reserve(group.size() * static_cast<size_t>(axis.size));
    for (int64_t member : group)
      for (int64_t i = 0; i < axis.size; ++i)
        next.push_back(member + i * axis.stride);
    group = std::move(next);
  }
  return group;
}

/// ceil(size / ranks): the padded size of one shard.
inline int64_t getShardSize(int64_t size, int64_t ranks) {
  return size / ranks + (size % ranks != 0);
}

} // namespace regather

#endif // REGATHER_SUPPORT_MESHRANKS_H
