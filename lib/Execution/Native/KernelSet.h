//===- KernelSet.h - Distinct compute functions of a step -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_EXECUTION_NATIVE_KERNELSET_H
#define REGATHER_LIB_EXECUTION_NATIVE_KERNELSET_H

#include "regather/Execution/CreateEngine.h"
#include "regather/Target/CPU/CompileKernels.h"

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
/// operations. Kernels take and return tensors only: scalars become tensors of
/// rank 0.
class KernelSet {
public:
  explicit KernelSet(mlir::MLIRContext *context);

  /// The kernel that executes `op`, and the values that it takes.
  unsigned add(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Value> &inputs);

  size_t size() const { return numKernels; }

  /// Lowers all kernels to machine code. Emits errors that name the operation
  /// if that cannot be done. `add` must not be called afterwards.
  mlir::LogicalResult compile(const EngineOptions &options);

  const cpu::KernelStatistics &getStatistics() const { return statistics; }

  /// Runs a kernel on `buffers`; false if an index is out of bounds. `scratch`
  /// is grown to what the kernel needs.
  bool run(unsigned kernel, llvm::ArrayRef<void *> buffers,
           std::vector<char> &scratch) const;

private:
  tg::KernelOp build(mlir::Operation *op, llvm::ArrayRef<mlir::Value> inputs);
  llvm::Error load();

  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::StringMap<unsigned> kernels;
  unsigned numKernels = 0;
  cpu::KernelStatistics statistics;
  std::vector<cpu::KernelCode> codes;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::vector<cpu::KernelFunction> functions;
};

} // namespace regather::native

#endif // REGATHER_LIB_EXECUTION_NATIVE_KERNELSET_H
