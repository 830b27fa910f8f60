//===- CompileKernels.cpp - PTX of kernels --------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Target/NVPTX/CompileKernels.h"

#include "GpuKernel.h"
#include "Ptx.h"

#include "regather/Target/Kernel/KernelText.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace regather;
namespace json = llvm::json;

/// What the name of an entry begins with; identifiers begin with no digit.
static constexpr llvm::StringLiteral kEntryPrefix = "kernel_";

/// Digits of the key in the name of an entry.
static constexpr size_t kEntryDigits = 32;

static std::string getEntryName(StringRef key) {
  return (kEntryPrefix + key.take_front(kEntryDigits)).str();
}

namespace {
/// Has a context of its own, so that several compilers can work at once, and
/// the text is all that a kernel's code depends on.
class KernelCompiler {
public:
  explicit KernelCompiler(const DialectRegistry &dialects)
      : context(dialects, MLIRContext::Threading::DISABLED) {
    DialectRegistry translations;
    nvptx::registerConversions(translations);
    nvptx::registerTranslations(translations);
    context.appendDialectRegistry(translations);
    nvptx::loadGpuDialects(&context);
  }

  /// A module that holds a `gpu.module` with what the kernel of a text becomes.
  llvm::Expected<OwningOpRef<ModuleOp>> lower(StringRef text, StringRef name);

  /// Code as the cache keeps it: a line with the launch plan and then the PTX.
  llvm::Expected<std::string>
  compile(StringRef text, StringRef name,
          const nvptx::KernelCompileOptions &options);

private:
  /// Runs `action`; its first error is that of the result.
  llvm::Error explain(function_ref<LogicalResult()> action);

  MLIRContext context;
};
} // namespace

llvm::Error KernelCompiler::explain(function_ref<LogicalResult()> action) {
  // Locations mean nothing here: the caller says which kernel it is.
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

llvm::Expected<OwningOpRef<ModuleOp>> KernelCompiler::lower(StringRef text,
                                                            StringRef name) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  auto gpuModule =
      gpu::GPUModuleOp::create(builder, builder.getUnknownLoc(), "kernels");
  llvm::Error error = explain([&]() -> LogicalResult {
    auto source = parseSourceString<ModuleOp>(text, ParserConfig(&context));
    if (!source)
      return failure();
    return nvptx::buildGpuKernel(*source->getOps<tg::KernelOp>().begin(),
                                 gpuModule, name);
  });
  if (error)
    return std::move(error);
  return module;
}

llvm::Expected<std::string>
KernelCompiler::compile(StringRef text, StringRef name,
                        const nvptx::KernelCompileOptions &options) {
  auto lowered = lower(text, name);
  if (!lowered)
    return lowered.takeError();
  gpu::GPUModuleOp module = getGpuModule(**lowered);
  json::Value plan = nvptx::toJSON(nvptx::getLaunchPlan(module));
  if (llvm::Error error =
          explain([&] { return nvptx::lowerToNVVM(**lowered); }))
    return std::move(error);
  auto ptx =
      nvptx::emitPtx(module, name, *options.architecture, options.libdevice);
  if (!ptx)
    return ptx.takeError();
  return llvm::formatv("{0}\n", plan).str() + *ptx;
}

/// What `compile` has written; nothing if it has failed.
static std::optional<nvptx::KernelCode> readCode(StringRef text) {
  auto [line, ptx] = text.split('\n');
  auto value = json::parse(line);
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

FailureOr<std::string> nvptx::printGpuKernel(tg::KernelOp kernel,
                                             StringRef name) {
  KernelCompiler compiler(kernel->getContext()->getDialectRegistry());
  auto module = compiler.lower(kernel::getText(kernel), name);
  if (!module)
    return kernel.emitError() << "cannot lower the kernel to the gpu dialect: "
                              << llvm::toString(module.takeError());
  std::string text;
  llvm::raw_string_ostream os(text);
  getGpuModule(**module).print(os);
  return text;
}

FailureOr<std::vector<nvptx::KernelCode>>
nvptx::compileKernels(ArrayRef<tg::KernelOp> kernels,
                      const KernelCompileOptions &options,
                      kernel::KernelStatistics &statistics) {
  if (kernels.empty())
    return std::vector<KernelCode>();
  auto texts = llvm::map_to_vector(kernels, kernel::getText);
  std::string description = kernel::describeCompiler() +
                            options.architecture->name.str() + '\n' +
                            options.libdevice + '\n';
  const DialectRegistry &dialects =
      tg::KernelOp(kernels.front())->getContext()->getDialectRegistry();
  std::vector<kernel::CompiledText> compiled = kernel::compileInParallel(
      texts,
      [&](StringRef text) { return kernel::hashText(description, text); },
      [&]() -> kernel::TextCompiler {
        auto compiler = std::make_shared<KernelCompiler>(dialects);
        return [compiler, &options](StringRef text, StringRef key) {
          return compiler->compile(text, getEntryName(key), options);
        };
      },
      options, statistics);
  std::vector<KernelCode> codes;
  bool hasFailed = false;
  for (auto [kernel, result] : llvm::zip_equal(kernels, compiled)) {
    std::optional<KernelCode> code = readCode(result.code);
    if (!code) {
      tg::KernelOp(kernel).emitError()
          << "cannot compile the kernel for " << options.architecture->name
          << ": " << result.error;
      hasFailed = true;
      continue;
    }
    codes.push_back(std::move(*code));
  }
  if (hasFailed)
    return failure();
  return codes;
}

SmallVector<tg::KernelOp> nvptx::collectKernels(ModuleOp module) {
  SmallVector<tg::KernelOp> kernels;
  llvm::StringSet<> texts;
  for (tg::KernelOp kernel : module.getOps<tg::KernelOp>())
    if (!kernel->hasAttr(tg::kRoutineAttrName) &&
        texts.insert(kernel::getText(kernel)).second)
      kernels.push_back(kernel);
  return kernels;
}

std::string nvptx::findLibdevice() {
  SmallVector<std::string> toolkits;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *value = std::getenv(variable))
      toolkits.emplace_back(value);
  toolkits.emplace_back("/usr/local/cuda");
  for (const std::string &toolkit : toolkits) {
    SmallString<128> path(toolkit);
    llvm::sys::path::append(path, "nvvm", "libdevice", "libdevice.10.bc");
    if (llvm::sys::fs::exists(path))
      return path.str().str();
  }
  return "";
}
