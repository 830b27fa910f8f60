//===- Compile.cpp - regather compile and regather manifest ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileGpu.h"
#include "Report/ReportCollector.h"
#include "StepFlags.h"

#include "regather/Dialect/TG/Steps/Fingerprint.h"
#include "regather/Execution/Bundle/Bundle.h"
#include "regather/Execution/Bundle/TargetMachine.h"
#include "regather/Execution/Training/Progress.h"
#include "regather/Program/LinkStep.h"

#include "llvm/ADT/StringExtras.h"

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

/// Passes --cuda-graph on to the pass that makes the graphs.
static Failure readCudaGraph() {
  if (cudaGraph.getNumOccurrences() == 0)
    return Failure();
  if (target == "cpu" || emitted != OutputKind::Bundle)
    return Failure("--cuda-graph needs a bundle for a target such as "
                   "--target=nvptx:sm_90a");
  llvm::StringRef text = llvm::StringRef(cudaGraph).trim();
  bool hasModules = text.starts_with("modules=");
  std::string &options = getPassOptions()["exec-form-graphs"];
  options += options.empty() ? "" : " ";
  options += (hasModules ? "mode=modules " : "mode=") + text.str();
  return Failure();
}

/// The cluster that the code is made for: threads, or the GPUs of a node or of
/// several.
static std::string getCodeCluster(mlir::ModuleOp module) {
  return target == "cpu" ? getTargetCluster() : getRequestedCluster(module);
}

static void warn(const kernel::KernelStatistics &statistics) {
  if (!statistics.cacheError.empty())
    llvm::errs() << "regather: warning: " << statistics.cacheError << '\n';
}

static llvm::FailureOr<CompiledStep> compile(const AnalyzedStep &step,
                                             Progress &progress) {
  cpu::KernelCompileOptions options;
  options.threads = getCompileThreads();
  options.cacheDirectory = getCacheDirectory();
  options.onKernelReady = [&](int64_t done, int64_t total) {
    progress.advance(done, total);
  };
  progress.begin("compiling");
  llvm::FailureOr<CompiledStep> compiled =
      compileStep(step.entry, options, getPassOptions());
  progress.end();
  if (succeeded(compiled))
    warn(compiled->statistics);
  return compiled;
}

static Manifest describe(const AnalyzedStep &step, const rg_program &program) {
  mlir::func::FuncOp entry = step.entry;
  Manifest manifest;
  manifest.step = step.signature;
  manifest.arenaBytes = program.arena_bytes;
  manifest.arenaLowerBound = program.arena_lower_bound;
  manifest.collectives =
      summarizeCollectives(entry->getParentOfType<mlir::ModuleOp>());
  manifest.fingerprint = llvm::utohexstr(tg::getCommunicationFingerprint(entry),
                                         /*LowerCase=*/true, /*Width=*/16);
  manifest.machine = getHostMachine();
  manifest.kernels = program.kernel_count;
  return manifest;
}

static llvm::LogicalResult showReport(ReportCollector &collector,
                                      const AnalyzedStep &step,
                                      const RunRequest &request) {
  // Compilation takes the options, too.
  PassOptionTexts passOptions = getPassOptions();
  llvm::FailureOr<report::StepReport> report =
      collector.collect(file, step, request, passOptions);
  return mlir::success(succeeded(report) &&
                       writeReport(*report, reportPage, /*numbers=*/""));
}

/// Explains what is wrong with `--target`.
static llvm::Error rejectTarget(const llvm::Twine &problem) {
  std::string known = "cpu";
  for (const nvptx::GpuArchitecture &architecture :
       nvptx::getGpuArchitectures())
    known += ", nvptx:" + architecture.name.str();
  return llvm::createStringError("unknown target '" + target + "'" + problem +
                                 "; targets are " + known);
}

/// What `--target=nvptx:ARCH,...` asks for; an error for anything else.
static llvm::Expected<GpuCompileRequest> readGpuRequest() {
  GpuCompileRequest request;
  llvm::StringRef list = target;
  if (!list.consume_front("nvptx:"))
    return rejectTarget("");
  auto architectures = nvptx::parseGpuArchitectures(list);
  if (!architectures)
    return rejectTarget(": " + llvm::toString(architectures.takeError()));
  if (emitted != OutputKind::Bundle && architectures->size() > 1)
    return llvm::createStringError(
        "--emit=ptx and --emit=cubin write code for one architecture, but '" +
        target + "' names several, for which --emit=bundle has room");
  request.architectures = std::move(*architectures);
  request.options.architecture = request.architectures.front();
  request.output =
      emitted == OutputKind::Cubin ? GpuOutput::Cubin : GpuOutput::Ptx;
  request.options.threads = getCompileThreads();
  request.options.cacheDirectory = getCacheDirectory();
  request.options.libdevice =
      libdevice.empty() ? nvptx::findLibdevice() : libdevice;
  request.path = output;
  request.ptxas = ptxas;
  return request;
}

/// Writes the code of the step's kernels, or of those of a module that holds
/// nothing else.
static int compileKernelsForGpu(mlir::ModuleOp module,
                                GpuCompileRequest request, Progress &progress) {
  request.options.onKernelReady = [&](int64_t done, int64_t total) {
    progress.advance(done, total);
  };
  mlir::OwningOpRef<mlir::ModuleOp> lowered;
  if (!module.getOps<mlir::func::FuncOp>().empty()) {
    progress.begin("preparing");
    RunRequest wanted = getRequestedStep(getCodeCluster(module));
    llvm::FailureOr<AnalyzedStep> step =
        prepareWholeStep(module, wanted, getPassOptions());
    if (failed(step))
      return 1;
    auto program = lowerToProgram(step->entry, getPassOptions());
    progress.end();
    if (failed(program) || hasUnusedPassOptions())
      return 1;
    lowered = std::move(*program);
    module = *lowered;
  }
  progress.begin("compiling");
  int code = compileForGpu(module, request);
  progress.end();
  return code;
}

static int write(llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> object,
                 const Manifest &manifest) {
  if (!object)
    return reportError(llvm::toString(object.takeError()));
  if (Failure failure = writeBundle(output, (*object)->getBuffer(), manifest))
    return reportError(failure.getMessage());
  return 0;
}

static int writeCpuBundle(const AnalyzedStep &step, Progress &progress) {
  llvm::FailureOr<CompiledStep> compiled = compile(step, progress);
  if (failed(compiled) || hasUnusedPassOptions())
    return 1;
  Manifest manifest = describe(step, compiled->tables->get());
  manifest.features = getHostFeatures();
  return write(linkStep(*compiled, linker), manifest);
}

/// The code of a bundle for GPUs needs nothing of the host.
static int writeGpuBundle(const AnalyzedStep &step,
                          const GpuCompileRequest &request,
                          Progress &progress) {
  GpuCompileOptions options = {{}, request.ptxas};
  for (const nvptx::GpuArchitecture *architecture : request.architectures) {
    options.kernels.push_back(request.options);
    options.kernels.back().architecture = architecture;
    options.kernels.back().onKernelReady = [&](int64_t done, int64_t total) {
      progress.advance(done, total);
    };
  }
  progress.begin("compiling");
  llvm::FailureOr<CompiledGpuStep> compiled =
      compileGpuStep(step.entry, options, getPassOptions());
  progress.end();
  if (failed(compiled) || hasUnusedPassOptions())
    return 1;
  warn(compiled->statistics);
  Manifest manifest = describe(step, compiled->tables->get());
  manifest.device = target;
  return write(linkStep(*compiled, linker), manifest);
}

int regather::compileMain() {
  if (!canWrite({&output, &reportPage}))
    return 1;
  if (Failure failure = readStepFlags())
    return reportError(failure.getMessage());
  if (target == "cpu" && emitted != OutputKind::Bundle)
    return reportError("--emit=ptx and --emit=cubin need a target such as "
                       "--target=nvptx:sm_90a");
  if (Failure failure = readCudaGraph())
    return reportError(failure.getMessage());
  std::optional<GpuCompileRequest> gpu;
  if (target != "cpu") {
    auto read = readGpuRequest();
    if (!read)
      return reportError(llvm::toString(read.takeError()));
    gpu = std::move(*read);
  }
  std::unique_ptr<InputFile> input = readModule(file);
  if (!input)
    return 1;
  std::optional<ReportCollector> collector;
  if (!reportPage.empty()) {
    std::optional<CostModel> model = loadRequestedCluster(*input->module);
    if (!model)
      return 1;
    collector.emplace(*input, std::move(*model));
  }
  Progress progress(isQuiet());
  if (emitted != OutputKind::Bundle)
    return compileKernelsForGpu(*input->module, std::move(*gpu), progress);
  progress.begin("preparing");
  RunRequest request = getRequestedStep(getCodeCluster(*input->module));
  llvm::FailureOr<AnalyzedStep> step =
      prepareWholeStep(*input->module, request, getPassOptions());
  progress.end();
  if (failed(step))
    return 1;
  if (collector && failed(showReport(*collector, *step, request)))
    return 1;
  return gpu ? writeGpuBundle(*step, *gpu, progress)
             : writeCpuBundle(*step, progress);
}

int regather::manifestMain() {
  auto manifest = readManifest(bundle);
  if (!manifest)
    return reportError(manifest.getMessage());
  llvm::outs() << formatManifest(*manifest);
  return 0;
}
