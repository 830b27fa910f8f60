//===- Compile.cpp - regather compile and regather manifest ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandFlags.h"

#include "regather/Execution/Bundle/Bundle.h"
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

static cl::opt<std::string> compileFile(cl::Positional, cl::desc("FILE"),
                                        cl::Required, cl::sub(compileCommand),
                                        cl::cat(getCategory()));
static cl::opt<std::string>
    compileOutput("o", cl::desc("File to write, such as step.rgb"),
                  cl::Required, cl::value_desc("FILE"), cl::sub(compileCommand),
                  cl::cat(getCategory()));
static cl::opt<OutputKind> emittedKind(
    "emit", cl::desc("What is written"),
    cl::values(clEnumValN(OutputKind::Bundle, "bundle", "a bundle (default)"),
               clEnumValN(OutputKind::Ptx, "ptx",
                          "the kernels as PTX, for nvptx; how they are "
                          "launched is in FILE.json"),
               clEnumValN(OutputKind::Cubin, "cubin",
                          "the kernels as NVIDIA's ptxas assembles them")),
    cl::init(OutputKind::Bundle), cl::sub(compileCommand),
    cl::cat(getCategory()));
static cl::opt<std::string> ptxasPath(
    "ptxas", cl::desc("Path of ptxas, if it is not to be searched for"),
    cl::value_desc("FILE"), cl::sub(compileCommand), cl::cat(getCategory()));
static cl::opt<std::string>
    compileReportPage("report", cl::desc("Write the page of `regather report`"),
                      cl::value_desc("FILE"), cl::sub(compileCommand),
                      cl::cat(getCategory()));

static cl::opt<std::string> shownBundle(cl::Positional, cl::desc("FILE"),
                                        cl::Required, cl::sub(manifestCommand),
                                        cl::cat(getCategory()));

/// What the flags ask for.
static Result<CompileRequest> readCompileFlags() {
  Result<CommandRequest> request = readCommandFlags(Command::Compile);
  if (!request)
    return request.getFailure();
  if (emittedKind != OutputKind::Bundle) {
    size_t architectures = request->compile.architectures.size();
    if (architectures == 0)
      return Failure("--emit=ptx and --emit=cubin need a target such as "
                     "--target=nvptx:sm_90a");
    if (architectures > 1)
      return Failure("--emit=ptx and --emit=cubin write code for one "
                     "architecture, but --target names several, for which "
                     "--emit=bundle has room");
    if (request->step.program.graphs.mode != exec::GraphMode::None)
      return Failure("--cuda-graph needs --emit=bundle");
  }
  CompileRequest compile = takeCompileRequest(std::move(*request), compileFile);
  compile.code.ptxas = ptxasPath;
  compile.wantsReport = !compileReportPage.empty();
  return compile;
}

/// Writes the code of kernels, and how they are launched.
static int writeKernelFiles(mlir::ModuleOp module,
                            const CompileRequest &request) {
  ShownProgress progress;
  llvm::FailureOr<KernelFiles> files =
      compileKernelFiles(module, request.step, request.code,
                         emittedKind == OutputKind::Cubin, progress);
  if (failed(files) || !writeFile(compileOutput, files->code))
    return 1;
  // A pipe, or the terminal, has room for one file only.
  if (llvm::StringRef(compileOutput).starts_with("/dev/"))
    return 0;
  return writeFile(compileOutput + ".json", files->launches) ? 0 : 1;
}

static int writeBundleFile(mlir::ModuleOp module, CompileRequest request) {
  ShownProgress progress;
  llvm::FailureOr<CompiledModule> compiled =
      compileModule(module, std::move(request), progress);
  if (succeeded(compiled) && compiled->memory)
    progress.progress.note(formatChoice(*compiled->memory));
  if (failed(compiled) ||
      (compiled->report &&
       !writeFile(compileReportPage, renderHtml(*compiled->report))))
    return 1;
  if (Failure failure =
          writeBundle(compileOutput, compiled->bundle.object->getBuffer(),
                      compiled->bundle.manifest))
    return reportError(failure.getMessage());
  return 0;
}

int regather::compileMain() {
  if (!canWrite({&compileOutput, &compileReportPage}))
    return 1;
  Result<CompileRequest> request = readCompileFlags();
  if (!request)
    return reportError(request.getMessage());
  std::unique_ptr<InputFile> input = readInput(compileFile);
  if (!input)
    return 1;
  return emittedKind == OutputKind::Bundle
             ? writeBundleFile(*input->module, std::move(*request))
             : writeKernelFiles(*input->module, *request);
}

int regather::manifestMain() {
  auto manifest = readManifest(shownBundle);
  if (!manifest)
    return reportError(manifest.getMessage());
  llvm::outs() << formatManifest(*manifest);
  return 0;
}
