//===- Schedule.cpp - Order a step so that it computes and communicates ---===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Schedule/PrefetchUnits.h"
#include "Schedule/ScheduleRemarks.h"

#include "regather/Dialect/TG/Steps/TimedStep.h"
#include "regather/Dialect/TG/Transforms/Passes.h"

#include "llvm/Support/FormatVariadic.h"

#define DEBUG_TYPE "tg-schedule"

namespace regather::tg {
#define GEN_PASS_DEF_SCHEDULEPASS
#include "regather/Dialect/TG/Transforms/Passes.h.inc"
} // namespace regather::tg

using namespace mlir;
using namespace regather;
using namespace regather::tg;

namespace {
struct Schedule : public regather::tg::impl::SchedulePassBase<Schedule> {
  using SchedulePassBase::SchedulePassBase;

  void runOnOperation() override {
    if (failed(checkOptions()))
      return signalPassFailure();
    if (mode == ScheduleMode::None)
      return;
    if (failed(readMemoryLimit()))
      return signalPassFailure();
    Result<Cluster> known = loadCluster(cluster);
    if (!known) {
      emitError(getOperation().getLoc()) << known.getMessage();
      return signalPassFailure();
    }
    CostModel model(std::move(*known));
    FailureOr<StepCosts> costs = StepCosts::create(getOperation(), model);
    if (failed(costs))
      return signalPassFailure();
    for (FunctionOpInterface func : getSteps(getOperation()))
      if (failed(orderStep(func, *costs)))
        return signalPassFailure();
  }

private:
  LogicalResult checkOptions();
  LogicalResult readMemoryLimit();
  OverlapOptions getOptions(const TimedGraph &program) const;
  LogicalResult orderStep(FunctionOpInterface func, StepCosts &costs);
  void apply(const StepGraph &graph, const OverlapSchedule &schedule);

  /// One of them is absent.
  std::optional<double> limitRatio;
  std::optional<int64_t> limitBytes;
};
} // namespace

/// Refuses options that another mode has.
LogicalResult Schedule::checkOptions() {
  bool isManual = mode == ScheduleMode::Manual;
  bool isAuto = mode == ScheduleMode::Auto;
  const SchedulePassOptions defaults;
  const std::tuple<StringRef, bool, bool> options[] = {
      {"prefetch", prefetch != defaults.prefetch, isManual},
      {"memory-limit", memoryLimit != defaults.memoryLimit, isAuto},
      {"in-flight", inFlight != defaults.inFlight, isAuto},
      {"effort", effort != defaults.effort, isAuto},
      {"overlap-groups", overlapGroups != defaults.overlapGroups, isAuto}};
  for (auto [name, isChanged, hasEffect] : options)
    if (isChanged && !hasEffect)
      return emitError(getOperation().getLoc())
             << "'" << name << "' has no effect with 'mode="
             << (isManual ? "manual"
                 : isAuto ? "auto"
                          : "none")
             << "'";
  return success();
}

std::string regather::tg::getDefaultMemoryLimit() {
  return llvm::formatv("{0:f2}x", kMemorySlack);
}

LogicalResult Schedule::readMemoryLimit() {
  StringRef text = memoryLimit;
  bool isRatio = text.consume_back("x");
  double ratio = 0;
  std::optional<int64_t> bytes = parseBytes(text);
  if (isRatio && !text.getAsDouble(ratio) && ratio > 0 && ratio < 1e6)
    limitRatio = ratio;
  else if (!isRatio && bytes)
    limitBytes = bytes;
  else
    return emitError(getOperation().getLoc())
           << "'memory-limit' must be a number of bytes, or a multiple such as "
           << getDefaultMemoryLimit() << ", got \"" << memoryLimit << '"';
  return success();
}

OverlapOptions Schedule::getOptions(const TimedGraph &program) const {
  OverlapOptions options;
  options.memoryLimit = limitBytes;
  if (limitRatio) {
    int64_t peak =
        computeMemoryCurve(program, program.getStepOrder()).peakBytes;
    options.memoryLimit =
        static_cast<int64_t>(static_cast<double>(peak) * *limitRatio);
  }
  options.inFlight = inFlight;
  options.allowsConflicts = overlapGroups;
  options.effortPerOp = effort;
  if (effort == 0)
    options.minEffort = 0;
  return options;
}

LogicalResult Schedule::orderStep(FunctionOpInterface func, StepCosts &costs) {
  StepGraph graph(func.getFunctionBody().front());
  if (llvm::none_of(graph.getOps(),
                    llvm::IsaPred<CollectiveOpInterface, HostCopyOpInterface>))
    return success();
  TimedGraph program = buildTimedStep(graph, makeStepTiming(costs)).program;
  Result<OverlapSchedule> schedule = schedulePrefetch(
      program, schedule::findPrefetchUnits(func, graph, prefetch));
  if (schedule && mode == ScheduleMode::Auto) {
    // The order with fixed distances is a candidate, so that the search ends
    // with nothing worse.
    OverlapOptions options = getOptions(program);
    options.candidates.push_back(std::move(schedule->order));
    schedule = scheduleOverlap(program, options);
  }
  if (!schedule)
    return emitError(func.getLoc())
           << "cannot schedule the step: " << schedule.getMessage();
  std::vector<ExposedWait> exposed =
      explainExposure(program, schedule->order, schedule->memoryLimit);
  schedule::emitRemarks(func, graph, *schedule, exposed);
  numExposed += exposed.size();
  apply(graph, *schedule);
  return success();
}

void Schedule::apply(const StepGraph &graph, const OverlapSchedule &schedule) {
  // A collective has moved if the number of computing operations before it has
  // changed.
  std::vector<unsigned> numBefore;
  unsigned count = 0;
  auto isMoved = [](Operation *op) {
    return isa<CollectiveOpInterface, HostCopyOpInterface, WaitOp>(op);
  };
  for (Operation *op : graph.getOps()) {
    numBefore.push_back(count);
    count += !isMoved(op);
  }
  count = 0;
  Block &block = graph.getBlock();
  for (uint32_t number : schedule.order) {
    Operation *op = graph.getOps()[number];
    if (isMoved(op))
      numMoved += numBefore[number] != count;
    else
      ++count;
    op->moveBefore(&block, block.getTerminator()->getIterator());
  }
}
