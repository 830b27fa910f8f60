//===- StepEntry.h - The function that is the step --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_UTILS_STEPENTRY_H
#define REGATHER_DIALECT_TG_UTILS_STEPENTRY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace regather::tg {

/// The only public function with a body; null if there is none. Several are an
/// error, which ends with `advice`.
mlir::FailureOr<mlir::func::FuncOp> findStep(mlir::ModuleOp module,
                                             llvm::StringRef advice);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_UTILS_STEPENTRY_H
