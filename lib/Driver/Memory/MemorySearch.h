//===- MemorySearch.h - Decisions that make a step fit ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DRIVER_MEMORY_MEMORYSEARCH_H
#define REGATHER_LIB_DRIVER_MEMORY_MEMORYSEARCH_H

#include "EstimateStep.h"

#include "regather/Pipelines/StepOptions.h"

namespace regather {

/// Decisions, and the step with them.
struct Try {
  StepOptions options;
  MeasuredStep measured;
};

/// Those of one part of the search, in their order.
using Tries = std::vector<Try>;

/// Lets a step compute and gather nothing twice, unless that is decided.
StepOptions doNothingTwice(StepOptions given, bool isOpen);

/// Tries decisions about memory, with the batch cut as it is given.
class MemorySearch {
public:
  /// All but `given` outlive it. With `shortSteps`, all that it finds is
  /// estimated by them.
  MemorySearch(mlir::ModuleOp module, const StepOptions &given, bool isOpen,
               const CostModel &model, const ShortSteps *shortSteps);

  /// Fails if the step cannot be what it is wanted to be, with an error.
  mlir::LogicalResult run(const MemorySearchNotes &notes);
  /// The quickest that fits.
  std::optional<unsigned> findBest() const;
  /// Choices that were tried, and with which options.
  const StepMemoryPlan &getPlan() const { return plan; }
  const StepOptions &getOptions(unsigned choice) const {
    return options[choice];
  }
  /// Of all choices that were tried.
  const MemoryChoice &getLeast() const { return plan.choices[findLeast()]; }
  const MeasuredStep &getMeasured(unsigned choice) const {
    return measuredSteps[choice];
  }
  /// Says what the smallest step needs, of `numChoices` that were tried, and
  /// why the batch is not cut further, if something stands in the way.
  mlir::LogicalResult emitLeast(size_t numChoices, llvm::StringRef obstacle);

private:
  /// Two choices, by number, and what a step between them may take.
  struct Between {
    unsigned larger, smaller;
    double seconds;
  };

  mlir::FailureOr<MeasuredStep> measure(const StepOptions &options,
                                        Tries &tries);
  /// The same for decisions that may be impossible: no errors then.
  mlir::FailureOr<MeasuredStep> tryDecisions(const StepOptions &options,
                                             Tries &tries);
  void keep(Tries tries);
  bool fits(const MeasuredStep &measured) const {
    return measured.choice.getBytes() <= plan.limit;
  }

  /// True if what has been found will do.
  bool isDone(const Tries &tries) const {
    return takesFirst &&
           (findBest() || llvm::any_of(tries, [&](const Try &one) {
              return fits(one.measured);
            }));
  }
  void tryWithoutRoom(const MeasuredStep &first);
  void tryAll(const StepOptions &options, const MeasuredStep &measured,
              llvm::ArrayRef<tg::PolicyPlan> policies, unsigned numBudgets,
              Tries &tries);
  std::optional<Try> tryPolicies(const StepOptions &options,
                                 llvm::ArrayRef<tg::PolicyPlan> policies,
                                 Tries &tries);
  void tryBudgets(const StepOptions &options, const MeasuredStep &most,
                  unsigned numBudgets, Tries &tries);
  double estimateBetween(const MemoryChoice &larger,
                         const MemoryChoice &smaller) const;
  std::optional<double>
  findLeastSeconds(llvm::ArrayRef<const Tries *> parts) const;
  void tryOffloads(const StepOptions &options, const MeasuredStep &measured,
                   std::optional<double> best, Tries &tries);
  void findEnough(
      int64_t low, int64_t high, int64_t lowBytes, int64_t highBytes,
      llvm::function_ref<mlir::FailureOr<MeasuredStep>(int64_t)> measure) const;
  void tryBudgetsWithHost(const StepOptions &options,
                          const MeasuredStep &measured, Tries &tries);
  mlir::LogicalResult tryNothingTwice(Tries &tries);
  bool isHopeless();
  mlir::FailureOr<MeasuredStep> tryChunks(const MeasuredStep &first,
                                          Tries &tries);
  void trySumsInBlocks();
  void tryGathersAgain(const MeasuredStep &first, Tries &tries);
  void tryStates(const MeasuredStep &first, Tries &tries);
  mlir::FailureOr<MeasuredStep> tryAllStates(Tries &tries);
  bool useStates(MeasuredStep &first);
  bool tryWithStates(MeasuredStep &first);
  void tryToFill();
  void tryWithoutChunks();
  std::vector<Between> findBetween() const;
  void trySomeUnits();
  void tryMoreRoom();
  void tryLessRoom();
  unsigned findLeast() const;

  mlir::ModuleOp module;
  /// Without the limit, which the tries must not look for again.
  StepOptions given;
  bool isOpen;
  const CostModel &model;
  StepMeasurer measurer;
  std::optional<StepEstimator> estimator;
  /// Units of the step, whatever copies have.
  int64_t numUnits;
  bool mayRecompute, mayApplyPolicy, mayChunk, mayReshard, mayOffload, mayOrder;
  bool takesFirst = false;
  /// Chains are in blocks although that makes the step as given no smaller.
  bool isChunkedAtOnce = false;
  /// All that is tried has the states of the optimizer on the host.
  bool keepsStates = false;
  StepMemoryPlan plan;
  /// By choice.
  std::vector<StepOptions> options;
  std::vector<MeasuredStep> measuredSteps;
};

} // namespace regather

#endif // REGATHER_LIB_DRIVER_MEMORY_MEMORYSEARCH_H
