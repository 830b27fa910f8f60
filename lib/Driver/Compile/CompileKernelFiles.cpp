//===- CompileKernelFiles.cpp - Kernels of a step for a GPU ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/CompileStep.h"
#include "regather/Kernel/NVPTX/PtxFile.h"
#include "regather/Program/CompileGpuStep.h"
#include "regather/Program/CompileStep.h"

#include "llvm/Support/JSON.h"

using namespace regather;
namespace json = llvm::json;

static int64_t countBytes(mlir::TypeRange types) {
  int64_t bytes = 0;
  for (mlir::Type type : types)
    bytes += tg::getTensorBytes(mlir::cast<mlir::RankedTensorType>(type));
  return bytes;
}

/// Adds what the machine code takes, if the report says it.
static void addResources(const nvptx::Launch &launch,
                         const nvptx::AssemblyReport &report,
                         const nvptx::GpuArchitecture &architecture,
                         json::Object &text) {
  auto found = report.find(launch.symbol);
  if (found == report.end())
    return;
  const nvptx::EntryResources &resources = found->second;
  text["registers"] = resources.registers;
  text["spill_bytes"] = resources.spillBytes;
  text["shared_bytes"] = resources.sharedBytes;
  text["blocks_per_sm"] =
      nvptx::countResidentBlocks(architecture, launch, resources);
}

/// The kind of a library call, as readers of the file know it.
static llvm::StringRef getRoutineText(mlir::Attribute call) {
  auto attention = mlir::dyn_cast<tg::AttentionAttr>(call);
  if (!attention)
    return "#tg.routine<gemm>";
  return attention.isBackward() ? "#tg.routine<attention_backward>"
                                : "#tg.routine<attention>";
}

/// How the kernels are launched, and which are left to libraries.
static std::string
describeLaunches(mlir::ModuleOp module, llvm::ArrayRef<tg::KernelOp> kernels,
                 llvm::ArrayRef<nvptx::KernelCode> codes,
                 const nvptx::AssemblyReport &report,
                 const nvptx::GpuArchitecture &architecture) {
  json::Array launches, routines;
  for (auto [kernel, code] : llvm::zip_equal(kernels, codes)) {
    json::Object entry = nvptx::toJSON(code.plan);
    entry["kernel"] = tg::KernelOp(kernel).getSymName();
    entry["argument_bytes"] =
        countBytes(tg::KernelOp(kernel).getArgumentTypes());
    entry["result_bytes"] = countBytes(tg::KernelOp(kernel).getResultTypes());
    for (auto [launch, text] :
         llvm::zip_equal(code.plan.launches, *entry.getArray("launches")))
      addResources(launch, report, architecture, *text.getAsObject());
    launches.push_back(std::move(entry));
  }
  for (tg::KernelOp kernel : module.getOps<tg::KernelOp>())
    if (nvptx::hasRoutine(kernel)) {
      mlir::Attribute call = kernel.getLibraryCallAttr();
      std::string text;
      llvm::raw_string_ostream os(text);
      os << call;
      routines.push_back(json::Object{{"kernel", kernel.getSymName()},
                                      {"routine", getRoutineText(call)},
                                      {"library_call", text}});
    }
  json::Object table{{"architecture", architecture.name},
                     {"kernels", std::move(launches)},
                     {"routines", std::move(routines)}};
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::formatv("{0:2}", json::Value(std::move(table))) << '\n';
  return text;
}

/// The kernels of a module that is lowered already.
static mlir::FailureOr<KernelFiles>
compileKernels(mlir::ModuleOp module, const CompileOptions &options,
               bool assembles, ProgressListener &progress) {
  nvptx::KernelCompileOptions kernelOptions;
  kernelOptions.architecture = options.architectures.front();
  kernelOptions.threads = options.threads;
  kernelOptions.cacheDirectory = options.cacheDirectory;
  kernelOptions.libdevice =
      options.libdevice.empty() ? nvptx::findLibdevice() : options.libdevice;
  kernelOptions.onKernelReady = [&](int64_t done, int64_t total) {
    progress.advance(done, total);
  };
  mlir::Location location = mlir::UnknownLoc::get(module.getContext());
  llvm::SmallVector<tg::KernelOp> kernels = nvptx::collectKernels(module);
  kernel::KernelStatistics statistics;
  llvm::FailureOr<std::vector<nvptx::KernelCode>> codes =
      nvptx::compileKernels(kernels, kernelOptions, statistics);
  if (failed(codes))
    return mlir::failure();
  KernelFiles files;
  files.code = nvptx::joinPtx(*codes);
  nvptx::AssemblyReport report;
  if (assembles) {
    auto binary = nvptx::assemblePtx(files.code, kernelOptions, options.ptxas,
                                     statistics, &report);
    if (!binary)
      return mlir::emitError(location) << llvm::toString(binary.takeError());
    files.code = std::move(*binary);
  }
  if (!statistics.cacheError.empty())
    mlir::emitWarning(location) << statistics.cacheError;
  files.launches = describeLaunches(module, kernels, *codes, report,
                                    *kernelOptions.architecture);
  return files;
}

/// The program of the step in `module`, which the step goes through to.
static mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
lowerStep(mlir::ModuleOp module, StepOptions step,
          const CompileOptions &options) {
  step.cluster = chooseCodeCluster(step, options, module);
  llvm::FailureOr<PreparedStep> prepared = prepareWholeStep(module, step);
  if (failed(prepared) ||
      failed(verifyNamedPasses(module, prepared->options, StepStage::Program)))
    return mlir::failure();
  return lowerToProgram(prepared->step.entry, prepared->options.getProgram());
}

mlir::FailureOr<KernelFiles>
regather::compileKernelFiles(mlir::ModuleOp module, const StepOptions &step,
                             const CompileOptions &options, bool assembles,
                             ProgressListener &progress) {
  if (options.architectures.size() != 1)
    return mlir::emitError(mlir::UnknownLoc::get(module.getContext()))
           << "expects one architecture to write kernels for, got "
           << options.architectures.size();
  mlir::OwningOpRef<mlir::ModuleOp> lowered;
  if (!module.getOps<mlir::func::FuncOp>().empty()) {
    progress.begin("preparing");
    auto program = lowerStep(module, step, options);
    progress.end();
    if (failed(program))
      return mlir::failure();
    lowered = std::move(*program);
    module = *lowered;
  }
  progress.begin("compiling");
  mlir::FailureOr<KernelFiles> files =
      compileKernels(module, options, assembles, progress);
  progress.end();
  return files;
}
