//===- CheckFigures.h - Figures, computed a second time ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_FUZZ_CHECKFIGURES_H
#define REGATHER_TEST_FUZZ_CHECKFIGURES_H

#include "RandomPipeline.h"

#include "mlir/IR/BuiltinOps.h"

namespace regather::fuzz {

/// Compares what is printed of a step with what types alone give, computed
/// slowly and from nothing that the compiler computes it from: bytes that
/// collectives receive, of all collectives in all and of those that were
/// bucketed; values that a partition saves, and that a minimum cut saves no
/// more than a plain one. `before` has been through `call` and become `after`.
/// What is wrong, or an empty text.
std::string checkFigures(mlir::ModuleOp before, mlir::ModuleOp after,
                         const PassCall &call);

/// Compares the peak and the lower bound of planned memory with a sum over all
/// buffers at each operation.
std::string checkProgramFigures(mlir::ModuleOp program);

} // namespace regather::fuzz

#endif // REGATHER_TEST_FUZZ_CHECKFIGURES_H
