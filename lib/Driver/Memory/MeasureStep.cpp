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
#include "regather/Driver/SimulationSummary.h"
#include "regather/Pipelines/Pipelines.h"
#include "regather/Pipelines/StepOptionText.h"
#include "regather/Program/CompileStep.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace regather;

/// How the options of commands say what was decided. The schedule is that of
/// the default unless `given` says more.
static void describe(const StepOptions &options, const StepOptions &given,
                     MemoryChoice &choice) {
  choice.microBatches = printStepOption(options, "micro-batches");
  choice.chunk = printStepOption(options, "chunk");
  choice.policy = printStepOption(options, "policy");
  choice.recompute = printStepOption(options, "recompute");
  choice.reshard = printStepOption(options, "reshard");
  choice.offload = printStepOption(options, "offload");
  choice.schedule = printStepOption(given, "schedule");
}

void regather::sortExposed(ExposedSeconds &exposed) {
  llvm::sort(exposed, [](const auto &a, const auto &b) {
    return std::tie(b.second, a.first) < std::tie(a.second, b.first);
  });
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
  sortExposed(measured.exposed);
}

/// Runs passes on a module that is only measured, and need not be verified.
static LogicalResult
runUnverified(ModuleOp module,
              llvm::function_ref<void(OpPassManager &)> addPasses) {
  PassManager pm(module.getContext());
  pm.enableVerifier(false);
  addPasses(pm);
  return pm.run(module);
}

/// The kernels of a step on the cluster. Takes its module if it is needed no
/// more.
static FailureOr<StepSimulation> simulateOnly(OwningOpRef<ModuleOp> &module,
                                              const AnalyzedStep &step,
                                              const CostModel &model,
                                              const ProgramOptions &program) {
  func::FuncOp entry = step.entry;
  std::string name = entry.getName().str();
  ModelFlops flops = countModelFlops(*module);
  OwningOpRef<ModuleOp> kernels =
      formsKernelsFirst(entry) ? std::move(module) : (*module).clone();
  if (failed(runUnverified(*kernels, [&](OpPassManager &pm) {
        buildKernelPipeline(pm, program);
      })))
    return failure();
  return simulateFormedKernels(std::move(kernels), name, step.signature.ranks,
                               flops, model);
}

/// The program of a step, from the kernels that were simulated if they are the
/// same.
static FailureOr<OwningOpRef<ModuleOp>>
planMemoryOf(OwningOpRef<ModuleOp> &module, const AnalyzedStep &step,
             StepSimulation simulation, const ProgramOptions &program) {
  if (module)
    return lowerToProgram(step.entry, program);
  if (failed(runUnverified(*simulation.module, [&](OpPassManager &pm) {
        buildMemoryPipeline(pm, simulation.analyzed.entry.getName(), program);
      })))
    return failure();
  return std::move(simulation.module);
}

/// What states of the optimizer take, wherever they lie.
static int64_t countStateBytes(func::FuncOp entry) {
  int64_t bytes = 0;
  for (BlockArgument argument : entry.getArguments())
    if (auto role = entry.getArgAttrOfType<tg::RoleAttr>(
            argument.getArgNumber(), tg::kRoleAttrName);
        role && role.getKind() == tg::RoleKind::OptimizerState)
      bytes += tg::getTensorBytes(TypeRange(argument.getType()));
  return bytes;
}

const ShardedStep *StepMeasurer::getSharded(const StepOptions &options) {
  std::lock_guard<std::mutex> lock(mutex);
  std::string chunk = printStepOption(options, "chunk");
  auto it = sharded.find(chunk);
  if (it != sharded.end())
    return &it->second;
  FailureOr<ShardedStep> made = shardOverMesh(module, options);
  if (failed(made))
    return nullptr;
  return &sharded.try_emplace(chunk, std::move(*made)).first->second;
}

FailureOr<MeasuredStep> StepMeasurer::measure(const StepOptions &options) {
  ScopedDiagnosticHandler handler(
      module.getContext(), [](Diagnostic &diagnostic) {
        return success(diagnostic.getSeverity() != DiagnosticSeverity::Error);
      });
  const ShardedStep *cut = getSharded(options);
  if (!cut)
    return failure();
  OwningOpRef<ModuleOp> copy = (*cut->module).clone();
  FailureOr<PreparedStep> prepared =
      prepareShardedStep(*copy, cut->origin, options);
  if (failed(prepared))
    return failure();
  MeasuredStep measured;
  describe(prepared->options, options, measured.choice);
  measured.savedBytes = countBoundary(*copy).savedBytes;
  measured.stateBytes = countStateBytes(prepared->step.entry);
  ProgramOptions program = prepared->options.getProgram();
  FailureOr<StepSimulation> simulation =
      simulateOnly(copy, prepared->step, model, program);
  if (failed(simulation))
    return failure();
  measured.hasOwnBatches = prepared->options.batch == tg::BatchMode::PerRank;
  describeTime(*simulation, model, measured);
  FailureOr<OwningOpRef<ModuleOp>> lowered =
      planMemoryOf(copy, prepared->step, std::move(*simulation), program);
  if (failed(lowered))
    return failure();
  FailureOr<report::MemoryCurve> memory =
      collectMemory(*(*lowered)->getOps<exec::ProgramOp>().begin());
  if (failed(memory))
    return failure();
  measured.choice.argumentBytes = memory->argumentBytes;
  measured.choice.arenaBytes = memory->arenaBytes;
  measured.choice.hostBytes = memory->hostBytes + memory->hostArgumentBytes;
  measured.choice.hostStateBytes = memory->hostArgumentBytes;
  measured.largest = std::move(memory->largest);
  return measured;
}

FailureOr<MeasuredStep> regather::measureStep(ModuleOp module,
                                              const StepOptions &options,
                                              const CostModel &model) {
  return StepMeasurer(module, model).measure(options);
}
