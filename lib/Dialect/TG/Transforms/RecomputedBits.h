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

/// Gives random bits of forward that have no mark the mark of the values that
/// are computed from them, if these may be computed again. The bits come out
/// the same again, and saving them would take four bytes for each element.
/// Linear.
void markRecomputedBits(mlir::FunctionOpInterface func);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_TRANSFORMS_RECOMPUTEDBITS_H
