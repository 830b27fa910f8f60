//===- CreateStepEngine.cpp - What runs a prepared step -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/CreateStepEngine.h"

#include "regather/Driver/StepStatistics.h"

using namespace mlir;
using namespace regather;

FailureOr<PreparedStep>
regather::prepareRun(ModuleOp module, StepOptions options, EngineKind kind) {
  if (options.cluster.empty())
    options.cluster = "cpu-threads";
  // The interpreter takes no kernels.
  options.lower = kind == EngineKind::Interpreter;
  options.schedulesKernels = !options.lower;
  FailureOr<PreparedStep> prepared = prepareStep(module, options);
  if (failed(prepared) || failed(verifyFitsMachine(prepared->step)) ||
      failed(verifyNamedPasses(module, prepared->options,
                               options.lower ? StepStage::Prepared
                                             : StepStage::Program)))
    return failure();
  return prepared;
}

static std::unique_ptr<Engine> createEngine(func::FuncOp func, EngineKind kind,
                                            const EngineOptions &options) {
  return kind == EngineKind::Cpu ? createNativeEngine(func, options)
                                 : createInterpreter(func, options);
}

static std::unique_ptr<Engine> createEngines(const AnalyzedStep &step,
                                             EngineKind kind,
                                             const EngineOptions &options) {
  std::unique_ptr<Engine> forward = createEngine(step.entry, kind, options);
  if (!step.backward || !forward)
    return forward;
  std::unique_ptr<Engine> backward =
      createEngine(step.backward->func, kind, options);
  if (!backward)
    return nullptr;
  return createPartitionedEngine(step.backward->partition, std::move(forward),
                                 std::move(backward));
}

std::unique_ptr<Engine> regather::createStepEngine(const PreparedStep &prepared,
                                                   EngineKind kind,
                                                   EngineOptions options,
                                                   ProgressListener &progress) {
  func::FuncOp entry = prepared.step.entry;
  ProgramOptions program = prepared.options.getProgram();
  options.ranks = prepared.step.signature.ranks;
  options.program = &program;
  options.onKernelReady = [&](int64_t done, int64_t total) {
    progress.advance(done, total);
  };
  options.onCacheError = [&](const std::string &message) {
    emitWarning(UnknownLoc::get(entry.getContext())) << message;
  };
  progress.begin("compiling");
  std::unique_ptr<Engine> engine = createEngines(prepared.step, kind, options);
  progress.end();
  return engine;
}

RunSubject regather::describeRun(const PreparedStep &prepared, EngineKind kind,
                                 EngineOptions options,
                                 ProgressListener &progress) {
  func::FuncOp entry = prepared.step.entry;
  auto create = [&prepared, kind, options = std::move(options),
                 &progress]() -> Result<std::unique_ptr<Engine>> {
    std::unique_ptr<Engine> engine =
        createStepEngine(prepared, kind, options, progress);
    // It has said what cannot be lowered.
    if (!engine)
      return Failure(std::string());
    return engine;
  };
  return {prepared.step.signature,
          summarizeCollectives(entry->getParentOfType<ModuleOp>()), create,
          [entry](const std::string &message) mutable {
            entry.emitError() << message;
          }};
}
