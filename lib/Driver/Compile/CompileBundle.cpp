//===- CompileBundle.cpp - From a prepared step to a bundle ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/IR/Elastic.h"
#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Dialect/TG/Nodes/AttentionTargets.h"
#include "regather/Dialect/TG/Nodes/NodeArguments.h"
#include "regather/Dialect/TG/Steps/Fingerprint.h"
#include "regather/Driver/CompileStep.h"
#include "regather/Driver/StepStatistics.h"
#include "regather/Execution/Bundle/Bundle.h"
#include "regather/Execution/Bundle/TargetMachine.h"
#include "regather/Program/LinkStep.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace mlir;
using namespace regather;

//===----------------------------------------------------------------------===//
// Defaults
//===----------------------------------------------------------------------===//

Result<std::vector<const nvptx::GpuArchitecture *>>
regather::parseTarget(StringRef target) {
  if (target == "cpu")
    return std::vector<const nvptx::GpuArchitecture *>();
  StringRef list = target;
  std::string problem;
  if (list.consume_front("nvptx:")) {
    auto architectures = nvptx::parseGpuArchitectures(list);
    if (architectures)
      return std::move(*architectures);
    problem = ": " + llvm::toString(architectures.takeError());
  }
  std::string known = "cpu";
  for (const nvptx::GpuArchitecture &architecture :
       nvptx::getGpuArchitectures())
    known += ", nvptx:" + architecture.name.str();
  return Failure(
      ("unknown target '" + target + "'" + problem + "; targets are " + known)
          .str());
}

std::string regather::getDefaultCacheDirectory() {
  if (std::optional<std::string> directory =
          llvm::sys::Process::GetEnv("REGATHER_CACHE_DIR"))
    return *directory;
  llvm::SmallString<128> directory;
  if (!llvm::sys::path::cache_directory(directory))
    return "";
  llvm::sys::path::append(directory, "regather");
  return directory.str().str();
}

std::string regather::chooseCodeCluster(const StepOptions &step,
                                        const CompileOptions &options,
                                        ModuleOp module) {
  if (options.isForGpus() || !step.cluster.empty())
    return chooseCluster(step, module);
  return "cpu-threads";
}

//===----------------------------------------------------------------------===//
// Bundles
//===----------------------------------------------------------------------===//

static ProgramSummary summarize(func::FuncOp entry, const rg_program &program) {
  ProgramSummary summary;
  summary.arenaBytes = program.arena_bytes;
  summary.arenaLowerBound = program.arena_lower_bound;
  summary.collectives =
      summarizeCollectives(entry->getParentOfType<ModuleOp>());
  summary.fingerprint = llvm::utohexstr(tg::getCommunicationFingerprint(entry),
                                        /*LowerCase=*/true, /*Width=*/16);
  summary.kernels = program.kernel_count;
  return summary;
}

static void warnOfCache(MLIRContext *context,
                        const kernel::KernelStatistics &statistics) {
  if (!statistics.cacheError.empty())
    emitWarning(UnknownLoc::get(context)) << statistics.cacheError;
}

namespace {
/// Steps as they were prepared and as they are compiled; of the second pair
/// there is none unless a step may be run again.
template <typename StepT> struct CompiledPair {
  func::FuncOp entry, roomyEntry;
  StepT step;
  std::optional<StepT> roomy;
};
} // namespace

/// Compiles one or two steps by `compile`.
template <typename StepT>
static FailureOr<CompiledPair<StepT>> compilePair(
    const PreparedStep &prepared, const PreparedStep *roomy,
    llvm::function_ref<FailureOr<StepT>(const PreparedStep &)> compile) {
  FailureOr<StepT> step = compile(prepared);
  if (failed(step))
    return failure();
  CompiledPair<StepT> pair{prepared.step.entry, {}, std::move(*step), {}};
  if (!roomy)
    return pair;
  FailureOr<StepT> again = compile(*roomy);
  if (failed(again))
    return failure();
  pair.roomyEntry = roomy->step.entry;
  pair.roomy = std::move(*again);
  return pair;
}

/// Links what has been compiled.
template <typename StepT>
static FailureOr<BundleContents> link(const StepSignature &signature,
                                      CompiledPair<StepT> &compiled,
                                      StringRef linker) {
  BundleContents bundle;
  Manifest &manifest = bundle.manifest;
  manifest.step = signature;
  manifest.machine = getHostMachine();
  manifest.program = summarize(compiled.entry, compiled.step.tables->get());
  if (compiled.roomy)
    manifest.roomy =
        summarize(compiled.roomyEntry, compiled.roomy->tables->get());
  auto object = linkStep(compiled.step,
                         compiled.roomy ? &*compiled.roomy : nullptr, linker);
  if (!object)
    return emitError(UnknownLoc::get(compiled.entry.getContext()))
           << llvm::toString(object.takeError());
  bundle.object = std::move(*object);
  return bundle;
}

template <typename OptionsT>
static OptionsT getKernelOptions(const CompileOptions &options,
                                 ProgressListener &progress) {
  OptionsT kernels;
  kernels.threads = options.threads;
  kernels.cacheDirectory = options.cacheDirectory;
  kernels.onKernelReady = [&](int64_t done, int64_t total) {
    progress.advance(done, total);
  };
  return kernels;
}

static FailureOr<CompiledStep> compileForCpu(const PreparedStep &prepared,
                                             const CompileOptions &options,
                                             ProgressListener &progress) {
  func::FuncOp entry = prepared.step.entry;
  auto kernels = getKernelOptions<cpu::KernelCompileOptions>(options, progress);
  kernels.optimizes = options.optimizesKernels;
  progress.begin("compiling");
  FailureOr<CompiledStep> compiled =
      compileStep(entry, kernels, prepared.options.getProgram());
  progress.end();
  if (succeeded(compiled))
    warnOfCache(entry.getContext(), compiled->statistics);
  return compiled;
}

static FailureOr<BundleContents> linkForCpu(const PreparedStep &prepared,
                                            const PreparedStep *roomy,
                                            const CompileOptions &options,
                                            ProgressListener &progress) {
  FailureOr<CompiledPair<CompiledStep>> compiled =
      compilePair<CompiledStep>(prepared, roomy, [&](const PreparedStep &one) {
        return compileForCpu(one, options, progress);
      });
  if (failed(compiled))
    return failure();
  FailureOr<BundleContents> bundle =
      link(prepared.step.signature, *compiled, options.linker);
  if (succeeded(bundle))
    bundle->manifest.features = getHostFeatures();
  return bundle;
}

/// A row that a mask hides as a whole by a finite number is a mean of all
/// values in a step of products. Kernels for GPUs have lost the number of
/// columns in its gradients, so attention that was such products has no mask
/// that is added.
static LogicalResult refuseAddedMasks(func::FuncOp entry) {
  WalkResult result = entry.walk([](tg::NodeOp node) {
    std::optional<tg::NodeTarget> target = tg::findAttentionTarget(node);
    if (!target || !tg::isAttentionBackward(*target))
      return WalkResult::advance();
    nodes::NodeArguments args(node, *target, /*isQuiet=*/true);
    nodes::Tensor mask = args.getOptionalTensor("attn_mask");
    if (!mask || mask.getType().getElementType().isInteger(1))
      return WalkResult::advance();
    node.emitError() << "option 'fuse-attention' made attention with a mask "
                        "that is added, whose gradients on GPUs are not exact "
                        "for rows that it hides as a whole; compile it for "
                        "cpu, or without the option";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

FailureOr<CompiledGpuStep>
regather::compileForGpus(const PreparedStep &prepared,
                         const CompileOptions &options,
                         ProgressListener &progress) {
  func::FuncOp entry = prepared.step.entry;
  const auto &fuse = prepared.options.fuseAttention;
  if (fuse.isWanted() && fuse.options.mode == tg::FuseAttentionMode::All &&
      failed(refuseAddedMasks(entry)))
    return failure();
  GpuCompileOptions gpu = {{}, options.ptxas};
  for (const nvptx::GpuArchitecture *architecture : options.architectures) {
    gpu.kernels.push_back(
        getKernelOptions<nvptx::KernelCompileOptions>(options, progress));
    gpu.kernels.back().libdevice =
        options.libdevice.empty() ? nvptx::findLibdevice() : options.libdevice;
    gpu.kernels.back().architecture = architecture;
    gpu.kernels.back().elastic = tg::getElasticSegments(entry) != 0;
  }
  progress.begin("compiling");
  FailureOr<CompiledGpuStep> compiled =
      compileGpuStep(entry, gpu, prepared.options.getProgram());
  progress.end();
  if (succeeded(compiled))
    warnOfCache(entry.getContext(), compiled->statistics);
  return compiled;
}

/// The code of a bundle for GPUs needs nothing of the host.
static FailureOr<BundleContents> linkForGpus(const PreparedStep &prepared,
                                             const PreparedStep *roomy,
                                             const CompileOptions &options,
                                             ProgressListener &progress) {
  FailureOr<CompiledPair<CompiledGpuStep>> compiled =
      compilePair<CompiledGpuStep>(
          prepared, roomy, [&](const PreparedStep &one) {
            return compileForGpus(one, options, progress);
          });
  if (failed(compiled))
    return failure();
  FailureOr<BundleContents> bundle =
      link(prepared.step.signature, *compiled, options.linker);
  if (failed(bundle))
    return failure();
  std::string &device = bundle->manifest.device;
  for (const nvptx::GpuArchitecture *architecture : options.architectures)
    device += (device.empty() ? "nvptx:" : ",") + architecture->name.str();
  return bundle;
}

FailureOr<BundleContents> regather::compileBundle(const PreparedStep &prepared,
                                                  const PreparedStep *roomy,
                                                  const CompileOptions &options,
                                                  ProgressListener &progress) {
  for (const PreparedStep *one : {&prepared, roomy}) {
    if (!one)
      continue;
    func::FuncOp entry = one->step.entry;
    if (failed(verifyNamedPasses(entry->getParentOfType<ModuleOp>(),
                                 one->options, StepStage::Program)))
      return failure();
  }
  return options.isForGpus() ? linkForGpus(prepared, roomy, options, progress)
                             : linkForCpu(prepared, roomy, options, progress);
}
