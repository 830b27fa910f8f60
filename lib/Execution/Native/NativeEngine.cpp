//===- NativeEngine.cpp - Run compiled code on threads --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramExecutor.h"

#include "regather/Conversion/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <thread>

using namespace mlir;
using namespace regather;
using namespace regather::native;

namespace {
/// Each rank is a thread that walks the program; kernels are compiled code, and
/// the runtime moves data between ranks while they compute.
class NativeEngine : public Engine {
public:
  NativeEngine(ModuleOp module, const EngineOptions &options)
      : module(module), options(options), kernels(module.getContext()) {}

  LogicalResult compile(StringRef entryName);

  std::string getName() const override { return "cpu"; }
  bool run(std::vector<RankValues> &arguments,
           std::vector<RankValues> &results) override;
  std::optional<int64_t> getPeakBytes() const override { return peakBytes; }
  std::optional<KernelCounts> getKernels() const override {
    const cpu::KernelStatistics &counts = kernels.getStatistics();
    return KernelCounts{counts.count, counts.compiled, counts.cached};
  }

private:
  /// A copy of the user's module in which calls are inlined and random bits
  /// are arithmetic.
  OwningOpRef<ModuleOp> module;
  EngineOptions options;
  KernelSet kernels;
  Program program;
  int64_t peakBytes = 0;
};
} // namespace

LogicalResult NativeEngine::compile(StringRef entryName) {
  PassManager pm(module->getContext());
  // Without the simplifications that the inliner runs by default: what is run
  // is what was written.
  pm.addPass(createInlinerPass(llvm::StringMap<OpPassManager>(),
                               [](OpPassManager &) {}));
  pm.addPass(createConvertTGRandomToLinalgPass());
  if (failed(pm.run(*module)))
    return failure();
  inlineOtherLibraryKernels(*module);
  auto entry = module->lookupSymbol<func::FuncOp>(entryName);
  FailureOr<Program> built = buildProgram(entry, kernels);
  if (failed(built))
    return failure();
  program = std::move(*built);
  return kernels.compile(options);
}

bool NativeEngine::run(std::vector<RankValues> &arguments,
                       std::vector<RankValues> &results) {
  rg_world_options worldOptions = {};
  worldOptions.ranks = static_cast<int32_t>(options.ranks);
  worldOptions.timeout_seconds = options.timeoutSeconds;
  rg_world *world = nullptr;
  if (rg_status status = rg_world_create(&worldOptions, &world);
      status != RG_OK) {
    module->emitError() << "cannot start " << options.ranks
                        << " ranks: " << rg_status_name(status);
    return false;
  }
  results.assign(options.ranks, {});
  std::vector<RankFailure> failures(options.ranks);
  std::vector<int64_t> peaks(options.ranks);
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank != options.ranks; ++rank)
    threads.emplace_back([&, rank] {
      failures[rank] = execute(program, kernels, world, rank, arguments[rank],
                               results[rank], peaks[rank]);
    });
  for (std::thread &thread : threads)
    thread.join();
  peakBytes = std::max(peakBytes, *llvm::max_element(peaks));

  // One failure stops all ranks: report it once, where the first rank stopped
  // that was not stopped by another.
  LogicalResult result = success();
  bool hasCause = llvm::any_of(failures, [](const RankFailure &failed) {
    return failed.op && failed.status != RG_ERROR_ABORTED;
  });
  for (auto [rank, failed] : llvm::enumerate(failures)) {
    if (!failed.op || (hasCause && failed.status == RG_ERROR_ABORTED))
      continue;
    result = failed.op->emitError()
             << "rank " << rank << " stopped: " << rg_world_error(world);
    break;
  }
  rg_world_destroy(world);
  return succeeded(result);
}

std::unique_ptr<Engine>
regather::createNativeEngine(func::FuncOp entry, const EngineOptions &options) {
  auto module = entry->getParentOfType<ModuleOp>();
  auto engine = std::make_unique<NativeEngine>(module.clone(), options);
  if (failed(engine->compile(entry.getName())))
    return nullptr;
  return engine;
}
