//===- CompileGpuKernels.cpp - PTX of kernels -----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/NVPTX/CompileGpuKernels.h"

#include "GpuModules.h"

#include "regather/Kernel/Compilation/KernelText.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace regather;

FailureOr<std::string> nvptx::printGpuKernel(tg::KernelOp kernel,
                                             StringRef name) {
  auto text = printGpuModule(kernel->getContext()->getDialectRegistry(),
                             kernel::getText(kernel), name, nullptr);
  if (!text)
    return kernel.emitError() << "cannot lower the kernel to the gpu dialect: "
                              << llvm::toString(text.takeError());
  return *text;
}

FailureOr<std::vector<nvptx::KernelCode>>
nvptx::compileKernels(ArrayRef<tg::KernelOp> kernels,
                      const KernelCompileOptions &options,
                      kernel::KernelStatistics &statistics) {
  if (kernels.empty())
    return std::vector<KernelCode>();
  std::vector<CompiledModule> compiled = compileGpuModules(
      tg::KernelOp(kernels.front())->getContext()->getDialectRegistry(),
      llvm::map_to_vector(kernels, kernel::getText), /*build=*/nullptr, options,
      statistics);
  std::vector<KernelCode> codes;
  bool hasFailed = false;
  for (auto [kernel, result] : llvm::zip_equal(kernels, compiled)) {
    if (!result.code) {
      tg::KernelOp(kernel).emitError()
          << "cannot compile the kernel for " << options.architecture->name
          << ": " << result.error;
      hasFailed = true;
      continue;
    }
    codes.push_back(std::move(*result.code));
  }
  if (hasFailed)
    return failure();
  return codes;
}

bool nvptx::hasRoutine(tg::KernelOp kernel) {
  tg::LibraryCallAttrInterface call = kernel.getLibraryCallAttr();
  return call && call.hasDeviceRoutine();
}

SmallVector<tg::KernelOp> nvptx::collectKernels(ModuleOp module) {
  SmallVector<tg::KernelOp> kernels;
  llvm::StringSet<> texts;
  for (tg::KernelOp kernel : module.getOps<tg::KernelOp>())
    if (!hasRoutine(kernel) && texts.insert(kernel::getText(kernel)).second)
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
