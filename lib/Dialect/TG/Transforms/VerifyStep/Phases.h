//===- Phases.h - Check that backward is marked -----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_VERIFYSTEP_PHASES_H
#define REGATHER_DIALECT_TG_TRANSFORMS_VERIFYSTEP_PHASES_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace regather::tg {

/// Checks, where `func` is a step over values that returns a loss and
/// gradients, that nothing counts as forward, for lack of a phase, that only
/// gradients need. Linear in the size of the function.
mlir::LogicalResult verifyPhases(mlir::FunctionOpInterface func);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_TRANSFORMS_VERIFYSTEP_PHASES_H
