//===- IndexedRows.h - Nodes that read or write rows ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_INDEXEDROWS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_INDEXEDROWS_H

#include "regather/Dialect/TG/IR/TG.h"

#include <optional>

namespace regather::tg::spmd {

/// A node that reads or writes whole rows of a tensor, the slices of its
/// dimension 0. Indices have one number for each row that is read or written;
/// those of `gather` and `scatter_add` have it once more for each element.
struct IndexedRows {
  NodeOp node;
  /// Numbers of operands: what is indexed, the indices, and what is written,
  /// which has one row for each index; nothing if rows are read.
  unsigned self, indices;
  std::optional<unsigned> values;
  /// Rows that are written are added.
  bool accumulates = false;
};

/// The node that `op` is, if it reads or writes rows.
std::optional<IndexedRows> matchIndexedRows(mlir::Operation *op);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_INDEXEDROWS_H
