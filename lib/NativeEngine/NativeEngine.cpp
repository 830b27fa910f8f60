//===- NativeEngine.cpp - Compile a step and run it -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Engines/CpuEngine.h"
#include "regather/Program/LoadStep.h"
#include "regather/StepAnalysis/CreateEngine.h"

using namespace mlir;
using namespace regather;

namespace {
/// Compiles a step and runs its tables, with kernels that are loaded into this
/// process.
class NativeEngine : public Engine {
public:
  LogicalResult compile(func::FuncOp entry, const EngineOptions &options);

  std::string getName() const override { return engine->getName(); }
  std::optional<int32_t> getOnlyRank() const override {
    return engine->getOnlyRank();
  }
  Result<std::vector<HostTensor>> gather(const HostTensor &tensor) override {
    return engine->gather(tensor);
  }
  Result<std::vector<HostTensor>> exchange(const HostTensor &tensor) override {
    return engine->exchange(tensor);
  }
  Result<bool> agreeToStop(int64_t step, bool wants) override {
    return engine->agreeToStop(step, wants);
  }
  bool run(std::vector<RankValues> &arguments,
           std::vector<RankValues> &results) override {
    return engine->run(arguments, results);
  }
  std::optional<int64_t> getPeakBytes() const override {
    return engine->getPeakBytes();
  }
  std::vector<double> getWaitSeconds() const override {
    return engine->getWaitSeconds();
  }
  int32_t getThreads() const override { return engine->getThreads(); }
  std::vector<std::vector<RunSpan>> getSpans() const override {
    return engine->getSpans();
  }
  std::optional<ArenaReport> getArena() const override {
    return engine->getArena();
  }
  std::optional<KernelCounts> getKernels() const override {
    const cpu::KernelStatistics &counts = step.statistics;
    return KernelCounts{counts.count, counts.compiled, counts.cached};
  }

private:
  LogicalResult createEngine(const EngineOptions &options);

  CompiledStep step;
  /// Holds the code of the kernels.
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::unique_ptr<CpuEngine> engine;
};
} // namespace

LogicalResult NativeEngine::createEngine(const EngineOptions &options) {
  rg_executor_options executor = {};
  executor.ranks = static_cast<int32_t>(options.ranks);
  executor.threads = options.threads;
  executor.timeout_seconds = options.timeoutSeconds;
  executor.watch_arena = options.watchArena;
  executor.latency_seconds = options.communicator.latencySeconds;
  executor.bandwidth = options.communicator.bandwidth;
  executor.host_bandwidth = options.communicator.hostBandwidth;
  executor.record_spans = options.recordSpans;
  executor.transport = options.transport;
  executor.check_messages = options.communicator.isChecked;
  auto report = [this](const std::string &message, int64_t instruction) {
    if (instruction < 0)
      step.module->emitError() << message;
    else
      step.tables->getOperation(instruction)->emitError() << message;
  };
  auto created =
      CpuEngine::create(step.tables->get(), executor, std::move(report));
  if (!created)
    return step.module->emitError()
           << "cannot run the step: " << created.getMessage();
  engine = std::move(*created);
  return success();
}

LogicalResult NativeEngine::compile(func::FuncOp entry,
                                    const EngineOptions &options) {
  cpu::KernelCompileOptions kernels;
  kernels.threads = options.compileThreads;
  kernels.optimizes = options.optimizesKernels;
  kernels.cacheDirectory = options.cacheDirectory;
  kernels.onKernelReady = options.onKernelReady;
  FailureOr<CompiledStep> compiled = compileStep(
      entry, kernels, options.program ? *options.program : ProgramOptions());
  if (failed(compiled))
    return failure();
  step = std::move(*compiled);
  if (!step.statistics.cacheError.empty() && options.onCacheError)
    options.onCacheError(step.statistics.cacheError);
  auto loaded = loadStep(step);
  if (!loaded)
    return step.module->emitError()
           << "cannot load the kernels: " << llvm::toString(loaded.takeError());
  jit = std::move(*loaded);
  return createEngine(options);
}

std::unique_ptr<Engine>
regather::createNativeEngine(func::FuncOp entry, const EngineOptions &options) {
  auto engine = std::make_unique<NativeEngine>();
  if (failed(engine->compile(entry, options)))
    return nullptr;
  return engine;
}
