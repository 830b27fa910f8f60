//===- StepSimulation.cpp - Simulate what is compiled ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepSimulation.h"

#include "regather/Driver/SimulationSummary.h"

#include "regather/Analysis/OverlapSchedule/OverlapSchedule.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace regather;

FailureOr<StepSimulation>
regather::simulateKernels(const AnalyzedStep &step, const CostModel &model,
                          const ProgramOptions &options) {
  func::FuncOp entry = step.entry;
  OwningOpRef<ModuleOp> kernels = entry->getParentOfType<ModuleOp>().clone();
  ModelFlops flops = countModelFlops(*kernels);
  if (failed(formKernels(*kernels, options)))
    return failure();
  return simulateFormedKernels(std::move(kernels), entry.getName(),
                               step.signature.ranks, flops, model);
}

FailureOr<StepSimulation>
regather::simulateFormedKernels(OwningOpRef<ModuleOp> kernels, StringRef entry,
                                int64_t ranks, const ModelFlops &flops,
                                const CostModel &model) {
  StepSimulation simulation;
  simulation.module = std::move(kernels);
  simulation.flops = flops;
  FailureOr<AnalyzedStep> analyzed =
      analyzeStep(*simulation.module, entry, ranks);
  if (failed(analyzed))
    return failure();
  simulation.analyzed = std::move(*analyzed);
  FailureOr<SimulatedStep> described = describeStep(simulation.analyzed, model);
  if (failed(described))
    return failure();
  simulation.step = std::move(*described);
  simulation.order = simulation.step.program.getStepOrder();
  simulation.result = simulateStep(simulation.step, simulation.order);
  return simulation;
}

//===----------------------------------------------------------------------===//
// Exposed waits
//===----------------------------------------------------------------------===//

namespace {
/// Says why the device waits for collectives.
class Reasons {
public:
  Reasons(const StepSimulation &simulation, std::optional<int64_t> memoryLimit)
      : simulation(simulation), isScheduled(memoryLimit.has_value()) {
    for (const ExposedWait &wait : explainExposure(
             simulation.step.program, simulation.order,
             memoryLimit.value_or(std::numeric_limits<int64_t>::max())))
      waits[wait.wait] = wait;
  }
  std::string get(uint32_t wait) const;

private:
  std::string describe(std::optional<uint32_t> op) const;

  const StepSimulation &simulation;
  bool isScheduled;
  llvm::DenseMap<uint32_t, ExposedWait> waits;
};
} // namespace

/// "all_gather of layers.3".
std::string Reasons::describe(std::optional<uint32_t> op) const {
  if (!op)
    return "other collectives";
  const TimelineOp &shown = simulation.step.ops[*op];
  StringRef name = shown.target;
  name.consume_front("tg.");
  return name.str() + (shown.module.empty() ? "" : " of " + shown.module);
}

std::string Reasons::get(uint32_t wait) const {
  auto it = waits.find(wait);
  if (it == waits.end())
    return "others are in flight on the same links";
  const ExposedWait &exposed = it->second;
  switch (exposed.reason) {
  case ExposureReason::Dependency:
    return "its input comes from " + describe(exposed.culprit) +
           " right before";
  case ExposureReason::NotEnoughCompute:
    return isScheduled ? "there is too little to compute before it"
                       : "it starts where the program has it: there is no "
                         "schedule";
  case ExposureReason::MemoryLimit:
    return "to start earlier takes more memory than the limit";
  case ExposureReason::StreamBusy:
    return "its stream is busy with " + describe(exposed.culprit);
  }
  llvm_unreachable("unknown reason");
}

static std::vector<report::TimedCollective>
describeCollectives(const StepSimulation &simulation,
                    const SimulationSummary &summary, const Reasons &reasons) {
  const TimedGraph &program = simulation.step.program;
  const RankTimeline &times = summary.getTimes();
  func::FuncOp entry = simulation.analyzed.entry;
  tg::StepGraph graph(entry.front());
  llvm::DenseMap<uint32_t, uint32_t> waits;
  for (uint32_t op : simulation.order)
    if (program.ops[op].kind == TimedOpKind::Wait)
      waits[program.ops[op].collective] = op;
  std::vector<report::TimedCollective> collectives;
  for (uint32_t op : simulation.order) {
    auto collective = dyn_cast<tg::CollectiveOpInterface>(graph.getOps()[op]);
    if (!collective)
      continue;
    report::TimedCollective &timed = collectives.emplace_back();
    timed.kind = collective->getName().stripDialect().str();
    timed.phase = tg::stringifyPhase(collective.getPhase()).str();
    timed.module = simulation.step.ops[op].module;
    timed.tensors = collective->getNumOperands();
    timed.bytes = simulation.step.ops[op].bytes;
    timed.seconds = times.end[op] - times.begin[op];
    auto wait = waits.find(op);
    if (wait == waits.end())
      continue;
    timed.aheadSeconds = times.begin[wait->second] - times.issued[op];
    timed.exposedSeconds = times.end[wait->second] - times.begin[wait->second];
    if (timed.exposedSeconds > 0)
      timed.reason = reasons.get(wait->second);
  }
  return collectives;
}

report::StepTiming
regather::describeTiming(const StepSimulation &simulation,
                         const CostModel &model,
                         std::optional<int64_t> memoryLimit) {
  const SimulatedStep &step = simulation.step;
  const Cluster &cluster = model.getCluster();
  SimulationSummary summary(step, simulation.order, simulation.result);
  summary.flops = simulation.flops.flops;
  summary.peakFlops = cluster.device.peakFlops.lookup(simulation.flops.type);
  const RankTimeline &times = summary.getTimes();
  report::StepTiming timing;
  timing.cluster = cluster.name;
  timing.device = cluster.device.name;
  timing.seconds = simulation.result.seconds;
  timing.computeSeconds = times.computeSeconds;
  timing.communicationSeconds = times.communicationSeconds;
  timing.exposedSeconds = times.exposedSeconds;
  timing.hiddenPart = summary.getHiddenPart();
  timing.utilization = summary.getUtilization();
  timing.peakBytes = summary.memory.peakBytes;
  timing.deviceBytes = static_cast<int64_t>(cluster.device.memoryBytes);
  for (const auto &[name, seconds] : summary.getBounds())
    timing.bounds.push_back({name, seconds});
  timing.collectives = describeCollectives(simulation, summary,
                                           Reasons(simulation, memoryLimit));
  timing.timeline =
      makeTimeline(step.program, simulation.order, simulation.result,
                   summary.rankClass, step.ops, step.streams);
  timing.timeline.name = summary.nameRanks(summary.rankClass);
  timing.ops = step.ops;
  return timing;
}
