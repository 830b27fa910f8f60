//===- GpuModules.cpp - Modules of the gpu dialect to PTX -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuModules.h"

#include "GpuDialects.h"
#include "Ptx.h"

#include "regather/Support/LLVM/ParseJson.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace regather;
namespace json = llvm::json;

/// What the name of an entry begins with; identifiers begin with no digit.
static constexpr llvm::StringLiteral kEntryPrefix = "kernel_";

/// Digits of the key in the name of an entry.
static constexpr size_t kEntryDigits = 32;

static std::string getEntryName(StringRef hash) {
  return (kEntryPrefix + hash.take_front(kEntryDigits)).str();
}

namespace {
/// Has a context of its own, so that several compilers can work at once, and
/// the text is all that the code depends on.
class GpuModuleCompiler {
public:
  GpuModuleCompiler(const DialectRegistry &dialects,
                    nvptx::GpuModuleBuilder build, bool isElastic)
      : context(dialects, MLIRContext::Threading::DISABLED), toGpu(&context),
        toNvvm(&context), build(build) {
    DialectRegistry translations;
    nvptx::registerConversions(translations);
    nvptx::registerTranslations(translations);
    context.appendDialectRegistry(translations);
    nvptx::loadGpuDialects(&context);
    nvptx::GpuPipelineOptions options;
    options.elastic = isElastic;
    nvptx::buildGpuPipeline(toGpu, options);
    nvptx::buildNvvmPipeline(toNvvm);
  }

  /// A module that holds a `gpu.module` with what a text becomes.
  llvm::Expected<OwningOpRef<ModuleOp>> lower(StringRef text, StringRef name);

  /// Code as the cache keeps it: a line with the launch plan and then the PTX.
  llvm::Expected<std::string>
  compile(StringRef text, StringRef name,
          const nvptx::KernelCompileOptions &options, kernel::CodeSource codes);

private:
  /// Runs `action`; its first error is that of the result.
  llvm::Error explain(function_ref<LogicalResult()> action);

  /// Lowers the kernel of a text; its functions bear the given name.
  FailureOr<OwningOpRef<ModuleOp>> lowerKernel(StringRef text, StringRef name);
  FailureOr<OwningOpRef<ModuleOp>> buildRoutine(StringRef text, StringRef name);

  MLIRContext context;
  /// `convert-tg-kernels-to-gpu` and `kernel-to-nvvm`.
  PassManager toGpu, toNvvm;
  /// Null if texts are kernels.
  nvptx::GpuModuleBuilder build;
};
} // namespace

llvm::Error GpuModuleCompiler::explain(function_ref<LogicalResult()> action) {
  // Locations of the text mean nothing; the caller names the kernel.
  std::string message = "cannot be lowered";
  bool isFirst = true;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (isFirst && diagnostic.getSeverity() == DiagnosticSeverity::Error) {
      message = diagnostic.str();
      isFirst = false;
    }
    return success();
  });
  if (succeeded(action()))
    return llvm::Error::success();
  return llvm::createStringError(message);
}

static gpu::GPUModuleOp getGpuModule(ModuleOp module) {
  return *module.getOps<gpu::GPUModuleOp>().begin();
}

FailureOr<OwningOpRef<ModuleOp>>
GpuModuleCompiler::lowerKernel(StringRef text, StringRef name) {
  auto module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
  if (!module)
    return failure();
  (*module->getOps<tg::KernelOp>().begin()).setSymName(name);
  if (failed(toGpu.run(*module)))
    return failure();
  return module;
}

FailureOr<OwningOpRef<ModuleOp>>
GpuModuleCompiler::buildRoutine(StringRef text, StringRef name) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  auto gpuModule =
      gpu::GPUModuleOp::create(builder, builder.getUnknownLoc(), "kernels");
  if (failed(build(text, gpuModule, name)))
    return failure();
  return module;
}

llvm::Expected<OwningOpRef<ModuleOp>> GpuModuleCompiler::lower(StringRef text,
                                                               StringRef name) {
  FailureOr<OwningOpRef<ModuleOp>> module;
  if (llvm::Error error = explain([&] {
        module = build ? buildRoutine(text, name) : lowerKernel(text, name);
        return LogicalResult(module);
      }))
    return std::move(error);
  return std::move(*module);
}

llvm::Expected<std::string>
GpuModuleCompiler::compile(StringRef text, StringRef name,
                           const nvptx::KernelCompileOptions &options,
                           kernel::CodeSource codes) {
  auto lowered = lower(text, name);
  if (!lowered)
    return lowered.takeError();
  gpu::GPUModuleOp module = getGpuModule(**lowered);
  json::Value plan = nvptx::toJSON(nvptx::getLaunchPlan(module));
  if (llvm::Error error = explain([&] { return toNvvm.run(**lowered); }))
    return std::move(error);
  auto ptx = nvptx::emitPtx(module, name, *options.architecture,
                            options.libdevice, codes);
  if (!ptx)
    return ptx.takeError();
  return llvm::formatv("{0}\n", plan).str() + *ptx;
}

/// What `compile` has written; nothing if it has failed.
static std::optional<nvptx::KernelCode> readCode(StringRef text) {
  auto [line, ptx] = text.split('\n');
  auto value = parseJson(line);
  nvptx::KernelCode code;
  json::Path::Root root;
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  if (!fromJSON(*value, code.plan, root) || code.plan.launches.empty())
    return std::nullopt;
  code.ptx = ptx;
  return code;
}

std::vector<nvptx::CompiledModule>
nvptx::compileGpuModules(const DialectRegistry &dialects,
                         ArrayRef<std::string> texts, GpuModuleBuilder build,
                         const KernelCompileOptions &options,
                         kernel::KernelStatistics &statistics) {
  std::string description = options.architecture->name.str() + '\n' +
                            options.libdevice + '\n' +
                            (options.elastic ? "elastic\n" : "");
  std::vector<kernel::CompiledText> compiled = kernel::compileInParallel(
      texts,
      [&](StringRef text) { return kernel::hashText(description, text); },
      [&]() -> kernel::TextCompiler {
        auto compiler = std::make_shared<GpuModuleCompiler>(dialects, build,
                                                            options.elastic);
        return [compiler, &options](StringRef text, StringRef name,
                                    kernel::CodeSource codes) {
          return compiler->compile(text, getEntryName(name), options, codes);
        };
      },
      options, statistics);
  std::vector<CompiledModule> modules;
  for (kernel::CompiledText &text : compiled)
    modules.push_back({readCode(text.code), std::move(text.error)});
  return modules;
}

llvm::Expected<std::string>
nvptx::printGpuModule(const DialectRegistry &dialects, StringRef text,
                      StringRef name, GpuModuleBuilder build) {
  GpuModuleCompiler compiler(dialects, build, /*isElastic=*/false);
  auto module = compiler.lower(text, name);
  if (!module)
    return module.takeError();
  std::string printed;
  llvm::raw_string_ostream os(printed);
  getGpuModule(**module).print(os);
  return printed;
}
