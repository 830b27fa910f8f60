//===- CountedIds.h - Counts that are written as comparisons ----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How many rows have each id is written in several ways:
//
//   counts = histc(float(ids), n, 0, n - 1)
//   counts = (ids[:, None] == arange(n)).sum(0)
//
// Of ids that are sorted, the second becomes the first, which SortedRows knows.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_COUNTEDIDS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_COUNTEDIDS_H

#include "mlir/IR/Block.h"

namespace regather::tg::spmd {

/// Rewrites counts of what a sort sorts. The numbers stay the same. Looks at
/// each operation of `block` once.
void rewriteCounts(mlir::Block &block);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_COUNTEDIDS_H
