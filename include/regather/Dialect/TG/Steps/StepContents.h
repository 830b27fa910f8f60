//===- StepContents.h - What a step consists of -----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What counts as an operation of a step, and what as a parameter: the one
// answer for everything that adds them up.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_STEPS_STEPCONTENTS_H
#define REGATHER_DIALECT_TG_STEPS_STEPCONTENTS_H

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/IR/BuiltinOps.h"

namespace regather::tg {

/// Calls `visit` for each operation of the functions of `module`, those that
/// control flow repeats included; but for terminators and for what structured
/// operations and kernels have inside.
void forEachStepOp(mlir::ModuleOp module,
                   llvm::function_ref<void(mlir::Operation *)> visit);

/// A parameter, which may be stored in a flat buffer with others.
struct StepParameter {
  /// Empty if it has none.
  std::string name;
  /// Path of the module that it belongs to.
  std::string module;
  /// The whole tensor, on all ranks.
  mlir::RankedTensorType type;
};

/// An argument that holds parameters.
struct ParameterBuffer {
  /// One, or those of a flat buffer.
  llvm::SmallVector<StepParameter, 1> parameters;
  /// Path of the module that the buffer belongs to.
  std::string module;
  int64_t bytesPerRank = 0;
};

/// Calls `visit` for each parameter of `module`. What a partitioned step has in
/// both of its parts is visited once.
void forEachParameterBuffer(
    mlir::ModuleOp module,
    llvm::function_ref<void(const ParameterBuffer &)> visit);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_STEPS_STEPCONTENTS_H
