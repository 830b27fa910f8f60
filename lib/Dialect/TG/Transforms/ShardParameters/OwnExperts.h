//===- OwnExperts.h - Rows of the experts that a rank has -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expert parallelism: each rank has some of the experts, and computes the rows
// that go to them. It has all rows of the batch, and sorts them by ids that
// count from its first expert, so that its own rows come first:
//
//   ids' = (ids - first) mod experts
//   ids', order' = sort(ids')
//   ends' = cumsum(histc(ids'))        of its experts alone
//   y' = grouped_mm(x[order' // k], w', ends')
//   result = sum over ranks of (y' where ids' < own)[inverse of order']
//
// Nothing is known of the rows of others, which lie behind the last end; they
// are zero where rows are put back or summed over, and each row is computed by
// one rank. So no row is dropped, however many go to one expert, and all sizes
// are known: tensors hold the rows of others, which are not multiplied.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_OWNEXPERTS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_OWNEXPERTS_H

#include "PartNodes.h"
#include "SortedRows.h"

#include "regather/Dialect/TG/Transforms/Experts.h"

namespace regather::tg::spmd {

/// How many experts the rows of a sort go to, if ranks could have some of them;
/// nothing if something else is counted or reduced.
std::optional<int64_t> countExperts(const SortedRows &rows, unsigned sort);

/// The number of the operand to which rows are added, unless it is zero. Each
/// rank adds its own rows to zeros, and once all ranks' are summed, they are
/// added to it.
std::optional<unsigned> findAddedTo(mlir::Operation *op,
                                    const SortedOp &planned);

/// What a rank computes of one sort.
struct OwnRows {
  /// The group over which experts are cut, and how many there are.
  Group group = Group::Shard;
  int64_t experts = 0;
  /// How many a rank has.
  int64_t own = 0;
  /// By what was sorted or counted, ids that count from the rank's first.
  llvm::DenseMap<mlir::Value, mlir::Value> ids;
  /// By counts and ends of all experts, those of the rank's.
  llvm::DenseMap<mlir::Value, mlir::Value> counts;
  /// True for the rank's own rows, which come first: [rows].
  mlir::Value mask;
};

/// Ids that count from the rank's first expert; those of no expert stay so.
mlir::Value buildOwnIds(mlir::Value ids, const OwnRows &rows,
                        const DataMesh &mesh, Communication &communication);
/// Back to those of all experts.
mlir::Value buildAllIds(mlir::Value ownIds, mlir::Type element,
                        const OwnRows &rows, const DataMesh &mesh,
                        Communication &communication);
/// Counts the rank's ids; the node counts those of all experts.
mlir::Value buildOwnCounts(NodeOp node, mlir::Value ownIds, const OwnRows &rows,
                           Communication &communication);
/// Zero in the rows of others.
mlir::Value maskRows(mlir::Value value, int64_t dim, mlir::Value mask,
                     Communication &communication);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_OWNEXPERTS_H
