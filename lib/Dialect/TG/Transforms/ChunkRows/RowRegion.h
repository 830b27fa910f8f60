//===- RowRegion.h - Operations on independent rows -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_TRANSFORMS_CHUNKROWS_ROWREGION_H
#define REGATHER_LIB_DIALECT_TG_TRANSFORMS_CHUNKROWS_ROWREGION_H

#include "../ShardParameters/FactorSplit.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <string>

namespace regather::tg::chunks {

/// An operation each row of whose results is computed from one row of those of
/// its operands that are cut.
struct RowOp {
  mlir::Operation *op;
  ShardingRule rule;
  spmd::FactorSplit split;
};

/// Operations that can be carried out on one block of rows after the other,
/// from the first to the last, before the next block begins.
struct RowRegion {
  /// In program order.
  std::vector<RowOp> ops;
  /// The values that they compute, and the dimension that has the rows.
  llvm::MapVector<mlir::Value, int64_t> dims;
  /// The values that they sum up over the rows.
  llvm::SetVector<mlir::Value> sums;
  /// Operations outside that the region reads, in program order, of those
  /// behind the first of the region.
  std::vector<mlir::Operation *> sources;
  /// Uses of scalars computed from the region whose elements are not read.
  std::vector<mlir::OpOperand *> unreadUses;
  /// The number of blocks divides it.
  int64_t rows = 0;
  /// Bytes of the large values that need not be whole, and of the largest.
  int64_t bytes = 0, largestBytes = 0;

  bool contains(mlir::Value value) const { return dims.contains(value); }
  /// True if the operation is one of them.
  bool contains(mlir::Operation *op) const {
    return llvm::any_of(op->getResults(), [&](mlir::Value result) {
      return contains(result) || sums.contains(result);
    });
  }
  /// True if something outside of the region reads the value.
  bool isRead(mlir::Value value) const;
};

/// The largest region of the operations that compute or read `seed`, or other
/// values of at least half as many elements that hang together with it, along
/// the rows of one of the dimensions of `seed`. Members are operations of
/// forward and backward with sharding rules by which every result is computed
/// row by row, and with `cutsSums` those that sum up large values over their
/// rows. Linear in the number of operations behind the first member. `reason`
/// says why there is none along the first dimension.
std::optional<RowRegion> findRowRegion(mlir::Value seed, bool cutsSums,
                                       std::string &reason);

} // namespace regather::tg::chunks

#endif // REGATHER_LIB_DIALECT_TG_TRANSFORMS_CHUNKROWS_ROWREGION_H
