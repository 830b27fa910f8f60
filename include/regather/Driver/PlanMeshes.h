//===- PlanMeshes.h - Which mesh is quickest --------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DRIVER_PLANMESHES_H
#define REGATHER_DRIVER_PLANMESHES_H

#include "regather/Driver/MemoryPlan.h"
#include "regather/Driver/ProgressListener.h"
#include "regather/Support/Result.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>

namespace regather {

struct PlanRequest {
  /// For messages and pages.
  std::string file;
  /// Without a mesh, which is what is looked for. Ranks are asked for; memory
  /// is that of the cluster's device if it is not.
  StepOptions step;
  /// Plans to keep.
  unsigned count = 10;
  /// Parameters, by pattern, whose other placements are tried as well.
  std::vector<std::string> explained;
};

/// A mesh, how the step lies over it, and what comes of it.
struct MeshPlan {
  /// Such as `dp:4,tp:2`.
  std::string mesh;
  std::string replicateAxis;
  /// Placements over axes of the model, as `--shard` takes them.
  std::vector<std::string> shard;
  /// What tg-shard-step counts for them, and what it counts for no others, in
  /// seconds; 0 if nothing is proven, or if nobody has looked for them.
  double placementSeconds = 0;
  double placementBoundSeconds = 0;
  /// The captured batch is that of each rank, not of all.
  bool hasOwnBatches = false;
  /// Of rows that are sent to experts; empty if none are, or in one chunk.
  std::string expertCapacity, expertChunks;
  /// What lives on from forward to backward, and what the step takes.
  MemoryChoice choice;
  /// No order of the operations takes less, with these placements and any of
  /// the decisions that were tried.
  double boundSeconds = 0;
  /// Of a rank, by simulation; the rest of the step is exposed communication.
  double computeSeconds = 0;
  /// Seconds in which nothing is computed, by the axes that are waited for, the
  /// longest first.
  std::vector<std::pair<std::string, double>> exposed;
  /// Rows of the batch of all ranks in one step; 1 without a batch.
  double rows = 1;
  /// Model FLOPs utilization; 0 if the peak is not known.
  double utilization = 0;

  /// What plans are compared by.
  double getSecondsPerRow() const { return choice.seconds / rows; }
  double getPlacementGap() const {
    return placementBoundSeconds > 0
               ? placementSeconds / placementBoundSeconds - 1
               : 0;
  }
  /// What takes most of the time: `computation`, or axes.
  std::string getLimit() const;
  /// Flags of a command that prepare the step in the same way.
  std::vector<std::string> getFlags() const;
};

/// A placement that was not chosen.
struct OtherPlacement {
  /// The parameters, or the outputs of modules, that are placed.
  std::string pattern;
  /// As `--shard` takes it; empty if nothing is said of an output, whose
  /// placement then follows from what its module reads.
  std::string placement;
  bool isChosen = false;
  /// Of the whole step, without a limit of memory; nothing if it cannot be.
  std::optional<MemoryChoice> choice;
  std::string problem;

  /// For people.
  std::string getText() const;
};

/// A search over meshes.
struct MeshSearch {
  std::string file, cluster;
  int64_t ranks = 1;
  /// Bytes that a rank may use.
  int64_t limit = 0;
  /// The quickest first; of equal ones that with fewer axes.
  std::vector<MeshPlan> plans;
  /// Factorisations, and those of them that were prepared and simulated.
  unsigned numMeshes = 0, numMeasured = 0;
  /// Of a step with many equal layers: the layers with which these were
  /// simulated, of how many, and how many of them were simulated with all; 0
  /// if all were at once.
  int64_t numLayers = 0, numAllLayers = 0;
  unsigned numCarriedOut = 0;
  /// Those that are not among the plans by the reason, with how many there are.
  std::map<std::string, unsigned> others;
  /// No plan over a mesh that was carried out takes less for a row.
  double boundSecondsPerRow = 0;
  /// Of what was asked to be explained, for the first plan with an axis tp.
  std::vector<OtherPlacement> explanations;
  std::string explainedMesh;
  /// Why something could not be explained; empty if nothing stood in the way.
  /// The plans hold whatever it says.
  std::string problem;

  const MeshPlan &getBest() const { return plans.front(); }
  double getGap() const {
    return boundSecondsPerRow > 0
               ? getBest().getSecondsPerRow() / boundSecondsPerRow - 1
               : 0;
  }
};

/// Tries side by side the factorisations of `request.step.ranks` over axes dp,
/// tp and cp, and over nodes as copies of what is sharded within (rep), best
/// bounds first. For each, parameters are placed over tp as tg-shard-step
/// chooses, once for each size, unless `--shard` says: of two or three choices,
/// the one whose step is quickest counts. Then decisions about memory follow by
/// planStepMemory, the first that fit where the bound is above the best plan so
/// far. A mesh whose bound is above the last of the plans is not
/// carried out; bounds are counts, so that the result depends on no clock, and
/// on no number of threads. Where a step has many equal layers and there are
/// many meshes, all are estimated first by copies with few of these layers, and
/// decisions about memory are looked for by such estimates; then the quickest
/// are carried out, until no estimate is within a few percent of the last plan.
/// All that plans say is of steps that were carried out.
/// Emits an error that names the least memory if nothing fits, or says why
/// nothing is possible.
///
/// Time: that of preparing the step, once for each mesh and some twenty times
/// for each that does not fit as it is, or of preparing its copies as often.
mlir::FailureOr<MeshSearch> planMeshes(mlir::ModuleOp module,
                                       const PlanRequest &request,
                                       ProgressListener &progress);

/// The plans as a table, and what became of other meshes.
std::string formatText(const MeshSearch &search);
/// All numbers, as one JSON object.
std::string formatJson(const MeshSearch &search);
/// A page with the table and a picture of time against memory, as HTML.
std::string formatPage(const MeshSearch &search);

/// What differs between two results of formatJson: meshes by name. Fails if one
/// of them is none.
Result<std::string> comparePlans(llvm::StringRef before, llvm::StringRef after);

} // namespace regather

#endif // REGATHER_DRIVER_PLANMESHES_H
