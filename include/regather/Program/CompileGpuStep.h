//===- CompileGpuStep.h - From a step to code for GPUs ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_PROGRAM_COMPILEGPUSTEP_H
#define REGATHER_PROGRAM_COMPILEGPUSTEP_H

#include "regather/Kernel/NVPTX/CompileGpuKernels.h"
#include "regather/Pipelines/Pipelines.h"
#include "regather/Program/GpuCode.h"
#include "regather/Program/ProgramTables.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace regather {

struct GpuCompileOptions {
  /// For each architecture that code is made for.
  std::vector<nvptx::KernelCompileOptions> kernels;
  /// Path of NVIDIA's assembler; if it is empty, it is searched for.
  std::string ptxas;
};

/// A step compiled for GPUs.
struct CompiledGpuStep {
  /// Holds the program and its kernels.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<ProgramTables> tables;
  /// For each architecture.
  std::vector<GpuCode> codes;
  kernel::KernelStatistics statistics;
};

/// Compiles what lowerToProgram makes of the step. The code for each
/// architecture holds PTX, which any driver translates that is new enough, and
/// machine code if there is an assembler.
mlir::FailureOr<CompiledGpuStep>
compileGpuStep(mlir::func::FuncOp entry, const GpuCompileOptions &options,
               const ProgramOptions &program);

} // namespace regather

#endif // REGATHER_PROGRAM_COMPILEGPUSTEP_H
