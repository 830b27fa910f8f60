//===- CompileStep.h - From a step to tables and code -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_PROGRAM_COMPILESTEP_H
#define REGATHER_PROGRAM_COMPILESTEP_H

#include "regather/Kernel/CPU/CompileCpuKernels.h"
#include "regather/Pipelines/Pipelines.h"
#include "regather/Program/ProgramTables.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace regather {

/// A step compiled for CPUs. The tables know how the kernels are called, but
/// not where they are loaded.
struct CompiledStep {
  /// Holds the program and its kernels.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<ProgramTables> tables;
  /// The code of each kernel of the tables; equal ones have one symbol.
  std::vector<cpu::KernelCode> kernels;
  cpu::KernelStatistics statistics;
};

/// Turns a copy of the module into a program over planned memory, called like
/// the step. Arguments that the step updates are donated.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
lowerToProgram(mlir::func::FuncOp entry, const ProgramOptions &program);

/// True if lowerToProgram forms and orders kernels as buildKernelPipeline does
/// of the step as it is: all that it updates is donated, nothing is called, and
/// no node has values that programs do not hold.
bool formsKernelsFirst(mlir::func::FuncOp entry);

/// Turns the module itself into a program, of a step that formsKernelsFirst and
/// has been through buildKernelPipeline.
mlir::LogicalResult lowerKernelsToProgram(mlir::func::FuncOp entry,
                                          const ProgramOptions &program);

/// Translates what lowerToProgram makes of the step into tables, too. They
/// refer to the module.
mlir::LogicalResult lowerToTables(mlir::func::FuncOp entry,
                                  const ProgramOptions &program,
                                  ProgramPlace place,
                                  mlir::OwningOpRef<mlir::ModuleOp> &module,
                                  std::unique_ptr<ProgramTables> &tables);

/// Compiles what lowerToProgram makes of the step for the CPU of this machine.
mlir::FailureOr<CompiledStep>
compileStep(mlir::func::FuncOp entry, const cpu::KernelCompileOptions &options,
            const ProgramOptions &program);

} // namespace regather

#endif // REGATHER_PROGRAM_COMPILESTEP_H
