//===- Compile.cpp - regather compile and regather manifest ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepFlags.h"

#include "regather/Driver/CompileStep.h"
#include "regather/Execution/Bundle/Bundle.h"
#include "regather/Pipelines/StepOptionText.h"
#include "regather/Report/RenderReport.h"

using namespace regather;
namespace cl = llvm::cl;

cl::SubCommand regather::compileCommand("compile",
                                        "Compile a step into a bundle");
cl::SubCommand regather::manifestCommand("manifest",
                                         "Print what a bundle holds");

namespace {
enum class OutputKind { Bundle, Ptx, Cubin };
} // namespace

static cl::opt<std::string> file(cl::Positional, cl::desc("FILE"), cl::Required,
                                 cl::sub(compileCommand),
                                 cl::cat(getCategory()));
static cl::opt<std::string> output("o",
                                   cl::desc("File to write, such as step.rgb"),
                                   cl::Required, cl::value_desc("FILE"),
                                   cl::sub(compileCommand),
                                   cl::cat(getCategory()));
static cl::opt<std::string>
    target("target",
           cl::desc("What the code is to run on: cpu, processors with the "
                    "instructions of this machine (default), or "
                    "nvptx:ARCH,..., GPUs of the architectures sm_80, sm_90a "
                    "or sm_100a; one alone unless a bundle is written"),
           cl::value_desc("TARGET"), cl::init("cpu"), cl::sub(compileCommand),
           cl::cat(getCategory()));
static cl::opt<OutputKind> emitted(
    "emit", cl::desc("What is written"),
    cl::values(clEnumValN(OutputKind::Bundle, "bundle", "a bundle (default)"),
               clEnumValN(OutputKind::Ptx, "ptx",
                          "the kernels as PTX, for nvptx; how they are "
                          "launched is in FILE.json"),
               clEnumValN(OutputKind::Cubin, "cubin",
                          "the kernels as NVIDIA's ptxas assembles them")),
    cl::init(OutputKind::Bundle), cl::sub(compileCommand),
    cl::cat(getCategory()));
static cl::opt<std::string>
    ptxas("ptxas", cl::desc("Path of ptxas, if it is not to be searched for"),
          cl::value_desc("FILE"), cl::sub(compileCommand),
          cl::cat(getCategory()));
static cl::opt<std::string>
    libdevice("libdevice",
              cl::desc("Path of NVIDIA's libdevice, if it is not to be "
                       "searched for in the CUDA toolkit"),
              cl::value_desc("FILE"), cl::sub(compileCommand),
              cl::cat(getCategory()));
static cl::opt<std::string>
    linker("linker", cl::desc("Path of lld, if it is not to be searched for"),
           cl::value_desc("FILE"), cl::sub(compileCommand),
           cl::cat(getCategory()));
static cl::opt<std::string>
    reportPage("report", cl::desc("Write the page of `regather report`"),
               cl::value_desc("FILE"), cl::sub(compileCommand),
               cl::cat(getCategory()));

static cl::opt<std::string> bundle(cl::Positional, cl::desc("FILE"),
                                   cl::Required, cl::sub(manifestCommand),
                                   cl::cat(getCategory()));

static cl::opt<std::string> cudaGraph(
    "cuda-graph",
    cl::desc("What a GPU is told at once: none (default), unit (computation of "
             "each unit and phase), modules=PATTERNS, full (the whole step), "
             "or options of exec-form-graphs, such as 'unit min-ops=4'"),
    cl::value_desc("MODE OPTION=VALUE..."), cl::sub(compileCommand),
    cl::cat(getCategory()));

static Failure readCudaGraph(StepOptions &options) {
  if (cudaGraph.getNumOccurrences() == 0)
    return Failure();
  if (target == "cpu" || emitted != OutputKind::Bundle)
    return Failure("--cuda-graph needs a bundle for a target such as "
                   "--target=nvptx:sm_90a");
  return setStepOption(options, "cuda-graph", cudaGraph.getValue(),
                       "--cuda-graph");
}

/// What the flags say of the code.
static Result<CompileOptions> readCompileFlags() {
  if (target == "cpu" && emitted != OutputKind::Bundle)
    return Failure("--emit=ptx and --emit=cubin need a target such as "
                   "--target=nvptx:sm_90a");
  auto architectures = parseTarget(target);
  if (!architectures)
    return architectures.getFailure();
  if (emitted != OutputKind::Bundle && architectures->size() > 1)
    return Failure(
        "--emit=ptx and --emit=cubin write code for one architecture, but '" +
        target + "' names several, for which --emit=bundle has room");
  CompileOptions options;
  options.architectures = std::move(*architectures);
  options.threads = getCompileThreads();
  options.cacheDirectory = getCacheDirectory();
  options.libdevice = libdevice;
  options.ptxas = ptxas;
  options.linker = linker;
  return options;
}

/// Writes the code of kernels, and how they are launched.
static int writeKernelFiles(mlir::ModuleOp module,
                            const CompileRequest &request) {
  ShownProgress progress;
  llvm::FailureOr<KernelFiles> files =
      compileKernelFiles(module, request.step, request.code,
                         emitted == OutputKind::Cubin, progress);
  if (failed(files) || !writeFile(output, files->code))
    return 1;
  // A pipe, or the terminal, has room for one file only.
  if (llvm::StringRef(output).starts_with("/dev/"))
    return 0;
  return writeFile(output + ".json", files->launches) ? 0 : 1;
}

static int writeBundleFile(mlir::ModuleOp module, CompileRequest request) {
  ShownProgress progress;
  llvm::FailureOr<CompiledModule> compiled =
      compileModule(module, std::move(request), progress);
  if (failed(compiled) ||
      (compiled->report &&
       !writeFile(reportPage, renderHtml(*compiled->report))))
    return 1;
  if (Failure failure =
          writeBundle(output, compiled->bundle.object->getBuffer(),
                      compiled->bundle.manifest))
    return reportError(failure.getMessage());
  return 0;
}

int regather::compileMain() {
  if (!canWrite({&output, &reportPage}))
    return 1;
  CompileRequest request;
  request.file = file;
  request.wantsReport = !reportPage.empty();
  Result<StepOptions> step = readStepFlags();
  if (!step)
    return reportError(step.getMessage());
  request.step = std::move(*step);
  if (Failure failure = readCudaGraph(request.step))
    return reportError(failure.getMessage());
  Result<CompileOptions> code = readCompileFlags();
  if (!code)
    return reportError(code.getMessage());
  request.code = std::move(*code);
  std::unique_ptr<InputFile> input = readInput(file);
  if (!input)
    return 1;
  return emitted == OutputKind::Bundle
             ? writeBundleFile(*input->module, std::move(request))
             : writeKernelFiles(*input->module, request);
}

int regather::manifestMain() {
  auto manifest = readManifest(bundle);
  if (!manifest)
    return reportError(manifest.getMessage());
  llvm::outs() << formatManifest(*manifest);
  return 0;
}
