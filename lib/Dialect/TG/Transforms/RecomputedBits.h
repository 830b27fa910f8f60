//===- RecomputedBits.h - Marks on random bits ------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_RECOMPUTEDBITS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_RECOMPUTEDBITS_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace regather::tg {

/// Marks random bits of forward that have no mark as what is computed from them
/// is marked, if that may be computed again: they come out the same again, and
/// saved they would take four bytes an element. Linear.
void markRecomputedBits(mlir::FunctionOpInterface func);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_TRANSFORMS_RECOMPUTEDBITS_H
