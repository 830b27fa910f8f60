//===- MeshRefinement.h - Meshes over the same ranks ---------- -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_COST_MESHREFINEMENT_H
#define REGATHER_ANALYSIS_COST_MESHREFINEMENT_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace regather {

/// A mesh that several meshes over the same ranks are coarser forms of: one of
/// 512 ranks and one of 64 times 8 are both of the axes 64 and 8.
struct MeshRefinement {
  std::vector<int64_t> sizes;
  /// By mesh and axis, the axes of this mesh that it is made of, ascending.
  std::vector<std::vector<std::vector<unsigned>>> parts;
};

/// The coarsest such mesh. Ranks are numbered row-major. Nothing if the meshes
/// differ in their ranks, or have axes that do not fit, such as 2 times 3 and 3
/// times 2.
std::optional<MeshRefinement>
refineMeshes(llvm::ArrayRef<std::vector<int64_t>> meshes);

} // namespace regather

#endif // REGATHER_ANALYSIS_COST_MESHREFINEMENT_H
