//===- StepExecutable.cpp - A step on memory of its caller ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/NativeEngine/StepExecutable.h"

using namespace mlir;
using namespace regather;

StepExecutable::StepExecutable(CompiledStep compiled)
    : step(std::move(compiled)), program(step.tables->get()) {}

StepExecutable::~StepExecutable() { rg_executor_destroy(executor); }

FailureOr<std::unique_ptr<StepExecutable>>
StepExecutable::create(func::FuncOp entry, const EngineOptions &options,
                       const rg_transport *transport) {
  cpu::KernelCompileOptions kernels;
  kernels.threads = options.compileThreads;
  kernels.optimizes = options.optimizesKernels;
  kernels.cacheDirectory = options.cacheDirectory;
  ProgramOptions program;
  if (options.program)
    program = *options.program;
  program.memory.callerResults = true;
  FailureOr<CompiledStep> compiled = compileStep(entry, kernels, program);
  if (failed(compiled))
    return failure();
  std::unique_ptr<StepExecutable> executable(
      new StepExecutable(std::move(*compiled)));
  ModuleOp module = *executable->step.module;
  auto jit = loadStep(executable->step);
  if (!jit)
    return module.emitError()
           << "cannot load the kernels: " << llvm::toString(jit.takeError());
  executable->jit = std::move(*jit);
  rg_executor_options executor = {};
  executor.ranks = static_cast<int32_t>(options.ranks);
  executor.transport = transport;
  executor.threads = options.threads;
  executor.timeout_seconds = options.timeoutSeconds;
  if (rg_executor_create(&executable->program, &executor,
                         &executable->executor) != RG_OK)
    return module.emitError() << "cannot run the step: "
                              << rg_executor_error(executable->executor);
  return executable;
}

std::optional<int64_t> StepExecutable::getArgumentOf(int64_t result) const {
  const rg_slice &place = program.results[result].slice;
  return place.space == RG_SPACE_ARGUMENT ? std::optional<int64_t>(place.index)
                                          : std::nullopt;
}

Failure StepExecutable::run(void *const *arguments, void *const *results) {
  std::lock_guard<std::mutex> lock(running);
  if (rg_executor_run(executor, &arguments, &results) == RG_OK)
    return Failure();
  std::string message = rg_executor_error(executor);
  rg_failure failure = rg_executor_failure(executor);
  if (failure.instruction >= 0)
    if (const char *text =
            program.instructions[failure.instruction].description)
      message += std::string(", in ") + text;
  return Failure("the step stopped: " + message, failure.status);
}
