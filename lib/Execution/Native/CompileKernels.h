//===- CompileKernels.h - Kernels in parallel, and cached -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_EXECUTION_NATIVE_COMPILEKERNELS_H
#define REGATHER_LIB_EXECUTION_NATIVE_COMPILEKERNELS_H

#include "KernelCompiler.h"

#include "regather/Execution/Engine.h"

#include <string>
#include <vector>

namespace regather::native {

struct CompiledKernel {
  /// The function to call.
  std::string name;
  /// Null if the kernel cannot be compiled.
  std::unique_ptr<llvm::MemoryBuffer> object;
  std::string error;
};

/// Takes each kernel from the cache, or compiles it and stores it there, on
/// several threads. What comes out does not depend on their number, nor on what
/// the cache holds.
std::vector<CompiledKernel>
compileKernels(llvm::ArrayRef<std::string> texts,
               const mlir::DialectRegistry &dialects,
               const KernelTarget &target, const EngineOptions &options,
               KernelStatistics &statistics);

} // namespace regather::native

#endif // REGATHER_LIB_EXECUTION_NATIVE_COMPILEKERNELS_H
