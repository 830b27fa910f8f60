//===- CausalMask.h - Masks that hide later positions -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_TRANSFORMS_FUSEATTENTION_CAUSALMASK_H
#define REGATHER_LIB_DIALECT_TG_TRANSFORMS_FUSEATTENTION_CAUSALMASK_H

#include "AttentionChain.h"

namespace regather::tg::attention {

/// Of a score that is at most that, no exponential is left beside another.
inline constexpr double kHiddenScore = -1e30;

/// True if nodes make `mask` of counted positions alone, and it hides a column
/// from a row exactly if the column is behind it. What is added to hide must be
/// minus infinity, or so large that no exponential is left of it. Linear in the
/// number of nodes that the mask is made of.
bool isCausalMask(mlir::Value mask, MaskKind kind);

} // namespace regather::tg::attention

#endif // REGATHER_LIB_DIALECT_TG_TRANSFORMS_FUSEATTENTION_CAUSALMASK_H
