//===- KernelSet.h - Distinct compute functions of a step -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_EXECUTION_NATIVE_KERNELSET_H
#define REGATHER_LIB_EXECUTION_NATIVE_KERNELSET_H

#include "CompileKernels.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"

#include <memory>
#include <vector>

namespace regather::native {

/// True for operations without operands that are cheaper to repeat in each
/// kernel that reads them than to pass around: constants and empty tensors.
bool isRepeatedInKernels(mlir::Operation *op);

/// Turns each compute operation into one function, the same function for equal
/// operations. Functions take and return tensors only: scalars become tensors
/// of rank 0.
class KernelSet {
public:
  explicit KernelSet(mlir::MLIRContext *context);

  /// The kernel that executes `op`, and the values that it takes.
  unsigned add(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Value> &inputs);

  size_t size() const { return numKernels; }

  /// Lowers all kernels to machine code. Emits errors that name the operation
  /// if that cannot be done. `add` must not be called afterwards.
  mlir::LogicalResult compile(const EngineOptions &options);

  const KernelStatistics &getStatistics() const { return statistics; }

  /// A function that takes pointers to the memref descriptors of the inputs and
  /// then of the outputs, each behind one more pointer.
  using Function = void (*)(void **);
  Function getFunction(unsigned kernel) const { return functions[kernel]; }

private:
  mlir::func::FuncOp build(mlir::Operation *op,
                           llvm::ArrayRef<mlir::Value> inputs);
  mlir::LogicalResult explainFailure(unsigned kernel, llvm::StringRef message);
  llvm::Error load(llvm::MutableArrayRef<CompiledKernel> compiled);

  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::StringMap<unsigned> kernels;
  unsigned numKernels = 0;
  KernelStatistics statistics;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::vector<Function> functions;
};

/// Lowers functions on tensors to the LLVM dialect with upstream passes.
/// Results become arguments; each reduction runs in loop order, nothing is
/// contracted.
mlir::LogicalResult lowerKernels(mlir::ModuleOp module);

} // namespace regather::native

#endif // REGATHER_LIB_EXECUTION_NATIVE_KERNELSET_H
