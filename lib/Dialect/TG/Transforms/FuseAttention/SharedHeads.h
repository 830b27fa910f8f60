//===- SharedHeads.h - Heads that are repeated ------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Models with fewer heads of key and value than of the query repeat them in
// front of the product, by `expand`, and backward sums over the copies.
// Attention reads each of them for a group of heads of the query.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_TRANSFORMS_FUSEATTENTION_SHAREDHEADS_H
#define REGATHER_LIB_DIALECT_TG_TRANSFORMS_FUSEATTENTION_SHAREDHEADS_H

#include "MatrixStacks.h"

namespace regather::tg::attention {

/// Where heads come from that were repeated.
struct SharedHeads {
  /// Batch, heads, one copy, rows and elements.
  mlir::Value heads;
  /// How often each head is repeated.
  int64_t groups = 1;
  /// The sum of the gradient over the copies; null if there is no gradient.
  mlir::Value gradient;
};

/// Looks for the heads that are repeated to `apart`, of batch, heads, rows and
/// elements. `gradient` has the same matrices, transposed if `isTransposed`, or
/// is null. Nothing if the heads are not repeated, or if anything else than
/// such a sum reads the gradient.
std::optional<SharedHeads>
findSharedHeads(mlir::Value apart, mlir::Value gradient, bool isTransposed);

} // namespace regather::tg::attention

#endif // REGATHER_LIB_DIALECT_TG_TRANSFORMS_FUSEATTENTION_SHAREDHEADS_H
