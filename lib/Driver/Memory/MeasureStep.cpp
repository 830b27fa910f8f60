//===- MeasureStep.cpp - Bytes and seconds of a step ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MeasureStep.h"

#include "../Report/CollectReport.h"
#include "../Report/StepSimulation.h"

#include "regather/Driver/BoundaryStatistics.h"
#include "regather/Driver/PrepareStep.h"
#include "regather/Driver/SimulationSummary.h"
#include "regather/Pipelines/StepOptionText.h"
#include "regather/Program/CompileStep.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace regather;

/// How the options of commands say what was decided. The schedule is that of
/// the default unless `given` says more.
static void describe(const StepOptions &options, const StepOptions &given,
                     MemoryChoice &choice) {
  choice.chunk = printStepOption(options, "chunk");
  choice.policy = printStepOption(options, "policy");
  choice.recompute = printStepOption(options, "recompute");
  choice.reshard = printStepOption(options, "reshard");
  choice.offload = printStepOption(options, "offload");
  choice.schedule = printStepOption(given, "schedule");
}

static void describeTime(const StepSimulation &simulation,
                         const CostModel &model, MeasuredStep &measured) {
  const SimulatedStep &step = simulation.step;
  SimulationSummary summary(step, simulation.order, simulation.result);
  summary.flops = simulation.flops.flops;
  summary.peakFlops =
      model.getCluster().device.peakFlops.lookup(simulation.flops.type);
  measured.choice.seconds = simulation.result.seconds;
  measured.boundSeconds = summary.getBound();
  measured.computeSeconds = summary.getTimes().computeSeconds;
  measured.utilization = summary.getUtilization();
  llvm::MapVector<uint32_t, double> byStream;
  for (const WaitTime &wait : summary.exposed)
    byStream[step.program.ops[wait.collective].stream] += wait.seconds;
  for (auto [stream, seconds] : byStream)
    measured.exposed.emplace_back(step.streams[stream], seconds);
  llvm::sort(measured.exposed, [](const auto &a, const auto &b) {
    return std::tie(b.second, a.first) < std::tie(a.second, b.first);
  });
}

/// The program of a step, from the kernels that were simulated if they are the
/// same.
static FailureOr<OwningOpRef<ModuleOp>>
planMemoryOf(func::FuncOp entry, StepSimulation simulation,
             const ProgramOptions &program) {
  if (!formsKernelsFirst(entry))
    return lowerToProgram(entry, program);
  if (failed(lowerKernelsToProgram(simulation.analyzed.entry, program)))
    return failure();
  return std::move(simulation.module);
}

FailureOr<MeasuredStep> regather::measureStep(ModuleOp module,
                                              const StepOptions &options,
                                              const CostModel &model) {
  ScopedDiagnosticHandler handler(
      module.getContext(), [](Diagnostic &diagnostic) {
        return success(diagnostic.getSeverity() != DiagnosticSeverity::Error);
      });
  OwningOpRef<ModuleOp> copy = module.clone();
  FailureOr<PreparedStep> prepared = prepareWholeStep(*copy, options);
  if (failed(prepared))
    return failure();
  MeasuredStep measured;
  describe(prepared->options, options, measured.choice);
  measured.savedBytes = countBoundary(*copy).savedBytes;
  ProgramOptions program = prepared->options.getProgram();
  FailureOr<StepSimulation> simulation =
      simulateKernels(prepared->step, model, program);
  if (failed(simulation))
    return failure();
  measured.hasOwnBatches = prepared->options.batch == tg::BatchMode::PerRank;
  describeTime(*simulation, model, measured);
  FailureOr<OwningOpRef<ModuleOp>> lowered =
      planMemoryOf(prepared->step.entry, std::move(*simulation), program);
  if (failed(lowered))
    return failure();
  FailureOr<report::MemoryCurve> memory =
      collectMemory(*(*lowered)->getOps<exec::ProgramOp>().begin());
  if (failed(memory))
    return failure();
  measured.choice.argumentBytes = memory->argumentBytes;
  measured.choice.arenaBytes = memory->arenaBytes;
  measured.choice.hostBytes = memory->hostBytes;
  measured.largest = std::move(memory->largest);
  return measured;
}
