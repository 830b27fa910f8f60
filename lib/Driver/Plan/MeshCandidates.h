//===- MeshCandidates.h - Meshes of a number of ranks -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DRIVER_PLAN_MESHCANDIDATES_H
#define REGATHER_LIB_DRIVER_PLAN_MESHCANDIDATES_H

#include "regather/Analysis/Cost/CostModel.h"
#include "regather/Dialect/TG/Transforms/Passes.h"
#include "regather/StepAnalysis/AnalyzeStep.h"

#include <map>

namespace regather {

/// What bounds the time of a step on any mesh.
struct StepTotals {
  /// Rows of the captured batch, and positions of its sequence; 0 without.
  int64_t rows = 0, positions = 0;
  /// Of all parameters, and of all states of the optimizer, whole.
  double parameterBytes = 0, stateBytes = 0;
  /// Of those that are experts; and how many a layer has, the greatest common
  /// divisor of all layers, 0 without.
  double expertBytes = 0;
  int64_t experts = 0;
  /// Of the model, on the whole batch, and the peak of a device; 0 if that is
  /// not known.
  double flops = 0, peakFlops = 0;
};

struct MeshCandidate {
  /// Copies of what dp shards; 1 for none.
  int64_t replicas = 1;
  int64_t data = 1, experts = 1, sequence = 1, tensor = 1;
  /// No plan with this mesh takes less for a row.
  double boundSecondsPerRow = 0;

  /// Such as `rep:2,dp:4,ep:2,tp:8`, without axes of one rank.
  std::string getMesh() const;
  /// The same without copies.
  std::string getShardedMesh() const;
  /// The axes that cut the model alone, such as `cp:2,tp:8`.
  std::string getModelMesh() const;
  int64_t getBatches() const { return replicas * data; }
  /// Ranks that share one batch.
  int64_t getModelRanks() const { return experts * sequence * tensor; }
};

/// All factorisations of `ranks` that the step allows, the best bound first.
/// `batch` is what the user says. Counts the others by the reason.
std::vector<MeshCandidate> listMeshes(int64_t ranks, const StepTotals &totals,
                                      std::optional<tg::BatchMode> batch,
                                      int64_t memoryLimit,
                                      const CostModel &model,
                                      std::map<std::string, unsigned> &others);

} // namespace regather

#endif // REGATHER_LIB_DRIVER_PLAN_MESHCANDIDATES_H
