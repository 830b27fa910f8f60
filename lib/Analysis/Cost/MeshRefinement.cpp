//===- MeshRefinement.cpp - Meshes over the same ranks --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Cost/MeshRefinement.h"

#include "llvm/ADT/STLExtras.h"

using namespace regather;

/// By axis, the distance of neighbours along it; before these, the number of
/// all ranks.
static std::vector<int64_t> getStrides(llvm::ArrayRef<int64_t> sizes) {
  std::vector<int64_t> strides = {1};
  for (int64_t size : llvm::reverse(sizes))
    strides.push_back(strides.back() * size);
  std::reverse(strides.begin(), strides.end());
  return strides;
}

std::optional<MeshRefinement>
regather::refineMeshes(llvm::ArrayRef<std::vector<int64_t>> meshes) {
  std::vector<int64_t> all = {1};
  for (const std::vector<int64_t> &sizes : meshes) {
    std::vector<int64_t> strides = getStrides(sizes);
    if (strides.front() != getStrides(meshes.front()).front())
      return std::nullopt;
    llvm::append_range(all, strides);
  }
  llvm::sort(all, std::greater<>());
  all.erase(llvm::unique(all), all.end());
  MeshRefinement refinement;
  for (size_t i = 0; i + 1 < all.size(); ++i) {
    if (all[i + 1] == 0 || all[i] % all[i + 1] != 0)
      return std::nullopt;
    refinement.sizes.push_back(all[i] / all[i + 1]);
  }
  for (const std::vector<int64_t> &sizes : meshes) {
    std::vector<int64_t> strides = getStrides(sizes);
    std::vector<std::vector<unsigned>> &axes = refinement.parts.emplace_back();
    for (size_t axis = 0; axis != sizes.size(); ++axis) {
      std::vector<unsigned> &parts = axes.emplace_back();
      for (unsigned i = 0; i + 1 < all.size(); ++i)
        if (all[i] <= strides[axis] && all[i + 1] >= strides[axis + 1])
          parts.push_back(i);
    }
  }
  return refinement;
}
