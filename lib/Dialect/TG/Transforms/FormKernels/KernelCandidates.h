//===- KernelCandidates.h - What generated code can run ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_FORMKERNELS_KERNELCANDIDATES_H
#define REGATHER_DIALECT_TG_TRANSFORMS_FORMKERNELS_KERNELCANDIDATES_H

#include "regather/Dialect/TG/IR/TG.h"

namespace regather::tg::kernels {

/// Values of at most so many elements cost nothing next to a launch.
inline constexpr int64_t kMaxCheapElements = 64;

/// What may become of an operation of a step.
enum class Candidate {
  /// Stays where it is: communication, effects, control flow, values that are
  /// no tensors or that a kernel cannot take.
  No,
  /// Something that libraries have routines for, but not here: a kernel alone.
  LibraryCall,
  /// A constant: each kernel that reads it gets its own.
  Repeated,
  /// May be a member of a kernel.
  Yes,
};

/// Tells what `op` is. `isRepeated` knows this of the operations before it.
Candidate getCandidate(mlir::Operation *op,
                       llvm::function_ref<bool(mlir::Operation *)> isRepeated);

/// True if `op` moves no bytes where its operand is at hand.
bool isView(mlir::Operation *op);

/// True if all operands and results are small.
bool isCheap(mlir::Operation *op);

/// True if `op` must be computed again instead of being saved.
bool isRecomputed(mlir::Operation *op);

} // namespace regather::tg::kernels

#endif // REGATHER_DIALECT_TG_TRANSFORMS_FORMKERNELS_KERNELCANDIDATES_H
