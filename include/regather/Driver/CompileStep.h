//===- CompileStep.h - Compile a prepared step ------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DRIVER_COMPILESTEP_H
#define REGATHER_DRIVER_COMPILESTEP_H

#include "regather/Driver/PrepareStep.h"
#include "regather/Driver/ProgressListener.h"
#include "regather/Execution/Bundle/Manifest.h"
#include "regather/Kernel/NVPTX/GpuArchitecture.h"
#include "regather/Program/CompileGpuStep.h"
#include "regather/Report/StepReport.h"

#include "llvm/Support/MemoryBuffer.h"

namespace regather {

/// What code is made for, and with what.
struct CompileOptions {
  /// Processors with the instructions of this machine if there are none.
  std::vector<const nvptx::GpuArchitecture *> architectures;
  /// Threads that compile kernels; one for each core if 0.
  unsigned threads = 0;
  /// A folder that keeps compiled kernels; none if empty.
  std::string cacheDirectory;
  /// Kernels for this processor are optimised. Has no effect on results.
  bool optimizesKernels = true;
  /// Paths of NVIDIA's libdevice and ptxas, and of lld; searched for if empty.
  std::string libdevice, ptxas, linker;

  bool isForGpus() const { return !architectures.empty(); }
};

/// The architectures of a target such as `nvptx:sm_80,sm_90a`; none of `cpu`.
/// The message lists the targets that there are.
Result<std::vector<const nvptx::GpuArchitecture *>>
parseTarget(llvm::StringRef target);

/// The folder that keeps compiled kernels if nobody names one:
/// $REGATHER_CACHE_DIR, or `regather` in the user's cache folder; empty if
/// there is none.
std::string getDefaultCacheDirectory();

/// The cluster that schedules and buckets of such code are made for: that of
/// `step`, or the threads of a processor, or GPUs.
std::string chooseCodeCluster(const StepOptions &step,
                              const CompileOptions &options,
                              mlir::ModuleOp module);

/// What a bundle holds; see writeBundle.
struct BundleContents {
  std::unique_ptr<llvm::MemoryBuffer> object;
  Manifest manifest;
};

/// Compiles a step in one piece for the target of `options`, and `roomy`, which
/// runs it again with room for the rows of all experts, unless it is null.
/// Emits errors and warnings.
mlir::FailureOr<BundleContents> compileBundle(const PreparedStep &prepared,
                                              const PreparedStep *roomy,
                                              const CompileOptions &options,
                                              ProgressListener &progress);

/// Compiles a step in one piece for the architectures of `options`, as what can
/// be run in this process. Emits errors and warnings.
mlir::FailureOr<CompiledGpuStep> compileForGpus(const PreparedStep &prepared,
                                                const CompileOptions &options,
                                                ProgressListener &progress);

/// What is compiled, and what is to come of it.
struct CompileRequest {
  /// For the report.
  std::string file;
  StepOptions step;
  CompileOptions code;
  /// The result tells what was decided about the step, and why.
  bool wantsReport = false;
};

/// A step that has been compiled.
struct CompiledModule {
  BundleContents bundle;
  /// If it was wanted.
  std::optional<report::StepReport> report;
  /// If there was a limit of memory.
  std::optional<StepMemoryPlan> memory;
};

/// Prepares the step of `module`, which it changes, and compiles it. Emits
/// errors and warnings.
mlir::FailureOr<CompiledModule> compileModule(mlir::ModuleOp module,
                                              CompileRequest request,
                                              ProgressListener &progress);

/// The kernels of a module for one architecture.
struct KernelFiles {
  /// PTX, or what NVIDIA's assembler makes of it.
  std::string code;
  /// JSON: how they are launched, and which are left to libraries.
  std::string launches;
};

/// Prepares and lowers the step of `module`, which it changes, and compiles its
/// kernels, or those of a module that holds nothing else, for the one
/// architecture of `options`. Emits errors and warnings.
mlir::FailureOr<KernelFiles> compileKernelFiles(mlir::ModuleOp module,
                                                const StepOptions &step,
                                                const CompileOptions &options,
                                                bool assembles,
                                                ProgressListener &progress);

} // namespace regather

#endif // REGATHER_DRIVER_COMPILESTEP_H
