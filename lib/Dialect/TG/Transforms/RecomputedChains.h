//===- RecomputedChains.h - Marks along chains of parameters ----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_RECOMPUTEDCHAINS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_RECOMPUTEDCHAINS_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace regather::tg {

/// Marks, as `must_recompute`, what forward makes of a gathered parameter whose
/// gather is marked so, as far as it has no mark of its own: a view of the
/// parameter would otherwise keep all of it.
void markRecomputedChains(mlir::FunctionOpInterface func);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_TRANSFORMS_RECOMPUTEDCHAINS_H
