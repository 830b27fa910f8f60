//===- MemoryPlan.h - The quickest step within a memory limit ---*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DRIVER_MEMORYPLAN_H
#define REGATHER_DRIVER_MEMORYPLAN_H

#include "regather/Pipelines/StepOptions.h"

#include "llvm/Support/JSON.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace regather {

/// Decisions about what lives on from forward to backward, and what a step
/// takes with them on each rank.
struct MemoryChoice {
  /// As the options of commands of these names take them; empty for none.
  std::string microBatches, chunk, policy, recompute, reshard, offload,
      schedule;
  /// Parameters, optimizer state, buffers, batch and results.
  int64_t argumentBytes = 0;
  /// Everything else: what the plan of the arena says, with all that lies
  /// between tensors.
  int64_t arenaBytes = 0;
  /// The arena in memory of the host, and states of the optimizer there, which
  /// are no part of the limit. The states alone.
  int64_t hostBytes = 0, hostStateBytes = 0;
  /// Simulated, by kernels and with the schedule that the step gets.
  double seconds = 0;

  int64_t getBytes() const { return argumentBytes + arenaBytes; }
  /// As flags of a command; "the step as it is" without any.
  std::string describe() const;
};

struct StepMemoryPlan {
  /// Bytes that a rank may use.
  int64_t limit = 0;
  std::string cluster;
  /// All that were tried; the first are the decisions without a limit.
  std::vector<MemoryChoice> choices;
  /// The quickest that fits; of equally quick ones the first.
  unsigned chosen = 0;
  /// The least that the computation, links and dependencies of any of them
  /// allow: no order of its operations is quicker.
  double boundSeconds = 0;

  const MemoryChoice &getChosen() const { return choices[chosen]; }
  /// How far the step is above the bound; 0 without one.
  double getGap() const;
  /// Numbers of the choices than which none is both smaller and quicker, from
  /// the smallest on; a gain of less than a thousandth of the time counts not.
  std::vector<unsigned> getFrontier() const;
};

struct MeasuredStep;
class ShortSteps;
struct Try;

/// What a search shares with who asks for it.
struct MemorySearchNotes {
  /// The step without a limit, if that has been measured.
  const MeasuredStep *first = nullptr;
  /// The first decisions with which the step fits will do: something else is
  /// quicker than any.
  bool takesFirst = false;
  /// The step without a limit is all that is asked for.
  bool measuresFirst = false;
  /// If set, all that is found is estimated by these, and what was tried is
  /// left in `tries`.
  const ShortSteps *shortSteps = nullptr;
  std::shared_ptr<const std::vector<Try>> tries;
  /// Set to what was chosen.
  std::shared_ptr<const MeasuredStep> chosen;
  /// Set to the least bytes of all that was tried, if anything was.
  std::optional<int64_t> leastBytes;
};

/// Chooses the decisions with which the step takes the least time in
/// `options.memory` bytes on each rank, and sets them in `options`, whose
/// `memory` it takes away. What the caller decided stays. If the step fits
/// without, it is only left for the step that does nothing twice, if that fits
/// and is quicker. Otherwise the largest chain over rows is carried out in
/// blocks if that helps; then policies are tried, and budgets of saved bytes,
/// the next one by what the arenas of two took, then how much has to lie on the
/// host, budgets beside what the link to the host takes anyway, and all of it
/// with parameters that are gathered again, and the quickest that fit with such
/// blocks if these did not help alone. If nothing fits by then, sums over
/// rows are made in blocks, which changes bits. With `choosesParts`, all of
/// that for more and more micro-batches, each time at least twice as many,
/// until the step fits as it is, or cannot be or is no quicker than with fewer.
/// Each try prepares a copy of the module, plans its arena and simulates it.
/// Emits an error that names the least that was found, and the largest tensors
/// that it needs, if nothing fits.
///
/// `isOpen`: nobody has decided about the step before. `notes` may be null.
mlir::FailureOr<StepMemoryPlan>
planStepMemory(mlir::ModuleOp module, StepOptions &options, bool isOpen,
               MemorySearchNotes *notes = nullptr);

/// Decides the same within the memory of the cluster's device, if the step
/// would not fit there: by an estimate for the step as it is prepared without.
/// Nothing otherwise, and a warning if nothing fits.
///
/// Cheap if all values of the step together fit, whoever computes them.
/// Otherwise it prepares a copy of the module.
mlir::FailureOr<std::optional<StepMemoryPlan>>
planDeviceMemory(mlir::ModuleOp module, StepOptions &options);

/// What was chosen, in one line.
std::string formatChoice(const StepMemoryPlan &plan);

/// A line on what was chosen, a line on the bound, and a table of the frontier
/// if more than one choice was tried.
std::string formatText(const StepMemoryPlan &plan);

/// The members of an object.
void writeJson(llvm::json::OStream &json, const StepMemoryPlan &plan);

} // namespace regather

#endif // REGATHER_DRIVER_MEMORYPLAN_H
