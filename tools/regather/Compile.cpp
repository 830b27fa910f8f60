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

static cl::opt<std::string> file(cl::Positional, cl::desc("FILE"), cl::Required,
                                 cl::sub(compileCommand),
                                 cl::cat(getCategory()));
static cl::opt<std::string> output("o",
                                   cl::desc("File to write, such as step.rgb"),
                                   cl::Required, cl::value_desc("FILE"),
                                   cl::sub(compileCommand),
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
    reportPage("report", cl::desc("Write the page of `regather report`"),
               cl::value_desc("FILE"), cl::sub(compileCommand),
               cl::cat(getCategory()));

static cl::opt<std::string> bundle(cl::Positional, cl::desc("FILE"),
                                   cl::Required, cl::sub(manifestCommand),
                                   cl::cat(getCategory()));

/// What the flags ask for.
static Result<CompileRequest> readFlags() {
  Result<CommandRequest> request = readCommandFlags(Command::Compile);
  if (!request)
    return request.getFailure();
  if (emitted != OutputKind::Bundle) {
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
  CompileRequest compile = takeCompileRequest(std::move(*request), file);
  compile.code.ptxas = ptxas;
  compile.wantsReport = !reportPage.empty();
  return compile;
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
  if (succeeded(compiled) && compiled->memory)
    progress.progress.note(formatChoice(*compiled->memory));
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
  Result<CompileRequest> request = readFlags();
  if (!request)
    return reportError(request.getMessage());
  std::unique_ptr<InputFile> input = readInput(file);
  if (!input)
    return 1;
  return emitted == OutputKind::Bundle
             ? writeBundleFile(*input->module, std::move(*request))
             : writeKernelFiles(*input->module, *request);
}

int regather::manifestMain() {
  auto manifest = readManifest(bundle);
  if (!manifest)
    return reportError(manifest.getMessage());
  llvm::outs() << formatManifest(*manifest);
  return 0;
}
