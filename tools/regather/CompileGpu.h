//===- CompileGpu.h - Kernels of a step for a GPU ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TOOLS_REGATHER_COMPILEGPU_H
#define REGATHER_TOOLS_REGATHER_COMPILEGPU_H

#include "regather/Kernel/NVPTX/CompileKernels.h"

#include "mlir/IR/BuiltinOps.h"

namespace regather {

/// What is written of the kernels.
enum class GpuOutput { Ptx, Cubin };

struct GpuCompileRequest {
  /// What a bundle has code for. The first is that of the options.
  std::vector<const nvptx::GpuArchitecture *> architectures;
  /// What one file of code is compiled with.
  nvptx::KernelCompileOptions options;
  GpuOutput output = GpuOutput::Ptx;
  /// Paths of what is written and of NVIDIA's assembler; the second may be
  /// empty.
  std::string path, ptxas;
};

/// Compiles the kernels of a module. Writes the code of all of them to one
/// file, and to another one, whose name ends with `.json`, how they are
/// launched. Says why it cannot, and returns the exit code of the program.
int compileForGpu(mlir::ModuleOp module, const GpuCompileRequest &request);

} // namespace regather

#endif // REGATHER_TOOLS_REGATHER_COMPILEGPU_H
