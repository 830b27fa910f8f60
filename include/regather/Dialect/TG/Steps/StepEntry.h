//===- StepEntry.h - The function that is the step --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_STEPS_STEPENTRY_H
#define REGATHER_DIALECT_TG_STEPS_STEPENTRY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace regather::tg {

/// What tg-partition calls the two functions that it makes of a step.
inline constexpr llvm::StringLiteral kForwardName = "forward";
inline constexpr llvm::StringLiteral kBackwardName = "backward";

/// The two functions of a partitioned step.
struct StepParts {
  mlir::func::FuncOp forward, backward;
};

/// The public functions with a body, if they are those that tg-partition
/// leaves.
std::optional<StepParts> findStepParts(mlir::ModuleOp module);

/// The only public function with a body; null if there is none. Several are an
/// error, which ends with `advice`.
mlir::FailureOr<mlir::func::FuncOp> findStep(mlir::ModuleOp module,
                                             llvm::StringRef advice);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_STEPS_STEPENTRY_H
