//===- CheckSchedule.cpp - What a schedule promises -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckSchedule.h"

#include "regather/Analysis/Simulator/Simulator.h"
#include "regather/Dialect/TG/Steps/StepCosts.h"
#include "regather/Dialect/TG/Steps/TimedStep.h"
#include "regather/Pipelines/PassOptionText.h"
#include "regather/Support/LLVM/ParseBytes.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace regather;
using namespace regather::fuzz;
using namespace regather::tg;

/// What two ways to add up the times of an order may differ by.
static constexpr double kTimeTolerance = 1e-3;

namespace {
/// A step as simulator and memory curve see it.
struct Timed {
  TimedGraph graph;
  MemoryCurve memory;

  double getSeconds(bool overlapsGroups) const;
  /// False if more collectives are in flight together than allowed.
  bool keepsStreamLimits(const SchedulePassOptions &options) const;
};
} // namespace

/// All ranks do the same, so that one stands for all.
static RankClasses makeOneClass(const TimedGraph &graph) {
  RankClasses classes;
  size_t numStreams = graph.streams.size();
  classes.ranks.push_back({0, 1, std::vector<uint32_t>(numStreams, 0)});
  classes.groups.resize(numStreams, {{{0}, 0, 1}});
  return classes;
}

double Timed::getSeconds(bool overlapsGroups) const {
  SimulationOptions options;
  options.serializesConflicts = !overlapsGroups;
  return simulate(graph, graph.getStepOrder(), makeOneClass(graph), options)
      .seconds;
}

bool Timed::keepsStreamLimits(const SchedulePassOptions &options) const {
  std::vector<bool> hasWait(graph.ops.size());
  for (const TimedOp &op : graph.ops)
    if (op.kind == TimedOpKind::Wait)
      hasWait[op.collective] = true;
  std::vector<unsigned> flying(graph.streams.size());
  for (auto [number, op] : llvm::enumerate(graph.ops)) {
    if (op.kind == TimedOpKind::Wait)
      --flying[op.stream];
    if (op.kind != TimedOpKind::Collective || !hasWait[number])
      continue;
    unsigned together = ++flying[op.stream];
    if (options.inFlight != 0 && together > options.inFlight)
      return false;
    if (!options.overlapGroups &&
        llvm::any_of(graph.streams[op.stream].conflicts,
                     [&](uint32_t other) { return flying[other] != 0; }))
      return false;
  }
  return true;
}

static std::optional<Timed> measure(ModuleOp module, FunctionOpInterface func,
                                    const CostModel &model) {
  FailureOr<StepCosts> costs = StepCosts::create(module, model);
  if (failed(costs))
    return std::nullopt;
  StepGraph graph(func.getFunctionBody().front());
  Timed timed;
  timed.graph = buildTimedStep(graph, makeStepTiming(*costs)).program;
  timed.memory = computeMemoryCurve(timed.graph, timed.graph.getStepOrder());
  return timed;
}

/// The limit in bytes, of a step that has this peak.
static int64_t getLimit(StringRef text, int64_t peak) {
  double ratio = 0;
  if (text.consume_back("x") && !text.getAsDouble(ratio))
    return static_cast<int64_t>(static_cast<double>(peak) * ratio);
  return parseBytes(text).value_or(std::numeric_limits<int64_t>::max());
}

static std::string checkStep(const Timed &before, const Timed &after,
                             const SchedulePassOptions &options) {
  int64_t limit = getLimit(options.memoryLimit, before.memory.peakBytes);
  if (after.memory.peakBytes > limit)
    return llvm::formatv("the order takes {0} bytes, the limit is {1}",
                         after.memory.peakBytes, limit);
  if (!after.keepsStreamLimits(options))
    return "more collectives are in flight together than allowed";
  if (before.memory.peakBytes > limit || !before.keepsStreamLimits(options))
    return "";
  double given = before.getSeconds(options.overlapGroups);
  double taken = after.getSeconds(options.overlapGroups);
  if (taken > given * (1 + kTimeTolerance))
    return llvm::formatv("the order takes {0} s, the one that was there {1} s",
                         taken, given);
  return "";
}

std::string regather::fuzz::checkSchedule(ModuleOp before, ModuleOp after,
                                          StringRef text) {
  SchedulePassOptions options;
  if (PassOptionFields(options).read(text, "") ||
      options.mode != ScheduleMode::Auto)
    return "";
  Result<Cluster> cluster = loadCluster(options.cluster);
  if (!cluster)
    return "";
  CostModel model(std::move(*cluster));
  for (auto [from, to] : llvm::zip_equal(getSteps(before), getSteps(after))) {
    auto communicates = from.walk([](Operation *op) {
      return isa<CollectiveOpInterface, HostCopyOpInterface>(op)
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (!communicates.wasInterrupted())
      continue;
    std::optional<Timed> given = measure(before, from, model);
    std::optional<Timed> taken = measure(after, to, model);
    if (!given || !taken)
      continue;
    if (std::string wrong = checkStep(*given, *taken, options); !wrong.empty())
      return wrong;
  }
  return "";
}
