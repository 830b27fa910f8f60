//===- GpuModules.h - Modules of the gpu dialect to PTX ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_NVPTX_GPUMODULES_H
#define REGATHER_LIB_KERNEL_NVPTX_GPUMODULES_H

#include "regather/Kernel/NVPTX/CompileGpuKernels.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <optional>

namespace regather::nvptx {

/// Builds the functions that a text describes, all names of which begin with
/// `name`. May be called on several threads, each with a context of its own.
using GpuModuleBuilder = llvm::function_ref<mlir::LogicalResult(
    llvm::StringRef text, mlir::gpu::GPUModuleOp module, llvm::StringRef name)>;

/// What a text has become: code, or the reason why not.
struct CompiledModule {
  std::optional<KernelCode> code;
  std::string error;
};

/// The code of each text, on several threads and with a cache. The text has to
/// be all that the functions depend on. Without a builder, it is a kernel.
std::vector<CompiledModule>
compileGpuModules(const mlir::DialectRegistry &dialects,
                  llvm::ArrayRef<std::string> texts, GpuModuleBuilder build,
                  const KernelCompileOptions &options,
                  kernel::KernelStatistics &statistics);

/// The module that one text becomes. Without a builder, it is a kernel.
llvm::Expected<std::string>
printGpuModule(const mlir::DialectRegistry &dialects, llvm::StringRef text,
               llvm::StringRef name, GpuModuleBuilder build);

} // namespace regather::nvptx

#endif // REGATHER_LIB_KERNEL_NVPTX_GPUMODULES_H
