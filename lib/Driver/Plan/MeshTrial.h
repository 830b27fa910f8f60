//===- MeshTrial.h - A step over one mesh -----------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DRIVER_PLAN_MESHTRIAL_H
#define REGATHER_LIB_DRIVER_PLAN_MESHTRIAL_H

#include "FindPlacements.h"
#include "MeshCandidates.h"

#include "../Memory/MemorySearch.h"

#include "regather/Driver/PlanMeshes.h"

namespace regather {

/// Keeps the first error, with its notes, instead of showing it.
class FirstError {
public:
  explicit FirstError(mlir::MLIRContext *context);

  std::string text;
  std::vector<std::string> notes;

private:
  mlir::ScopedDiagnosticHandler handler;
};

/// What all meshes of a search have in common. All outlives the trials.
struct PlanInput {
  mlir::ModuleOp module;
  /// Nobody has decided about the step before.
  bool isOpen;
  const PlanRequest &request;
  const CostModel &model;
  const StepTotals &totals;
  /// Bytes that a rank may use; not positive for any number.
  int64_t limit;
  /// If there are any, decisions about memory are looked for by estimates.
  const ShortSteps *shortSteps;
  /// Steps are estimated by them, too, until they are carried out.
  bool estimatesTime;
};

/// What has been found so far, in seconds for a row of the batch; infinite if
/// there is nothing yet.
struct PlansSoFar {
  double best = std::numeric_limits<double>::infinity();
  /// What a plan has to be quicker than to be kept.
  double last = std::numeric_limits<double>::infinity();
};

/// A mesh with placements, before memory is decided about.
struct PlacedStep {
  StepOptions options;
  MeshPlan plan;
  MeasuredStep measured;
  double keptBytes = 0;
  /// What was estimated for it, if anything was decided about its memory.
  std::shared_ptr<const Tries> guesses;
  /// By an estimate it is quicker if it does nothing twice, but too large.
  /// Bytes are estimated less well than time where memory has room.
  bool mayDoNothingTwice = false;

  double getSecondsPerRow() const {
    return measured.choice.seconds / plan.rows;
  }
};

/// The least that was found for a mesh on which nothing fits.
struct LeastMemory {
  int64_t bytes = std::numeric_limits<int64_t>::max();
  /// The step that ended up so, and what stands in the way.
  MeshCandidate mesh;
  PlacedStep step;
  std::vector<std::string> notes;
};

/// Measures a step over one mesh, or estimates it, and decides about its
/// memory. Several trials may be at work at the same time.
class MeshTrial {
public:
  MeshTrial(const PlanInput &input, const MeshCandidate &mesh)
      : input(&input), isEstimate(input.estimatesTime), mesh(mesh) {}

  const MeshCandidate &getMesh() const { return mesh; }
  /// Fails, with an error if it is not one of the options that it sets, if the
  /// step cannot lie so.
  mlir::FailureOr<PlacedStep> measure(const FoundPlacements &placements,
                                      const PlansSoFar &soFar,
                                      std::string &problem) const;
  /// Of all, the quickest. One that fits as it is needs no decisions.
  void setSteps(std::vector<PlacedStep> steps);
  bool isEstimated() const { return isEstimate || estimated.guesses; }
  bool hasSteps() const { return !steps.empty(); }
  bool fitsAsItIs() const { return fits(steps.front()); }
  /// No plan over this mesh is quicker.
  double getSecondsPerRow() const { return steps.front().getSecondsPerRow(); }

  /// Decides about memory. Of what fits, the quickest is the plan.
  void decide(const PlansSoFar &soFar);
  /// Measures what was estimated. A step that takes more than it was to take is
  /// decided about again; then there may be no plan.
  void carryOut();
  /// The same for a step of which nothing may be known but its options.
  void carryOut(PlacedStep step);

  std::optional<MeshPlan> plan;
  LeastMemory least;
  /// Why there is no plan.
  std::string problem;
  /// No plan that was found over the mesh takes less for a row; infinite if
  /// none was.
  double boundSecondsPerRow = std::numeric_limits<double>::infinity();

private:
  bool fits(const PlacedStep &step) const { return fits(step.measured); }
  bool fits(const MeasuredStep &measured) const {
    return input->limit <= 0 || measured.choice.getBytes() <= input->limit;
  }
  mlir::LogicalResult measure(PlacedStep &step, const PlansSoFar &soFar) const;
  void setPlan(PlacedStep step);
  std::optional<Try> carryOut(Try guess) const;
  bool setMesh(const FoundPlacements &placements, StepOptions &options,
               MeshPlan &plan, std::string &problem) const;
  bool fitMemory(PlacedStep &step, const PlansSoFar &soFar);
  void decideAll(std::vector<PlacedStep> all, const PlansSoFar &soFar);

  const PlanInput *input;
  /// What is known is estimated.
  bool isEstimate;
  MeshCandidate mesh;
  std::vector<PlacedStep> steps;
  /// The step of the plan, and others that may be quicker if they are not
  /// estimated.
  PlacedStep estimated;
  std::vector<PlacedStep> near;
};

} // namespace regather

#endif // REGATHER_LIB_DRIVER_PLAN_MESHTRIAL_H
