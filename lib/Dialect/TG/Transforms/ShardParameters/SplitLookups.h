//===- SplitLookups.h - Lookups in a part of the rows -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nodes that read or write at indices need the dimension that is indexed whole:
// an index counts from its beginning. A rank that has a part of it subtracts
// where its part begins, and leaves out what lies elsewhere:
//
//   embedding, gather      the rank's results are zero for the indices of
//                          others: partial sums
//   their gradients        the rank's part is made of the indices that lie in
//                          it: embedding_dense_backward, and a scatter of a
//                          number into zeros, as the gradient of the loss
//
// An index that lies nowhere stays one: the node reports it, as on one device.
//
// So vocabularies are cut: embeddings, and the loss behind a head, of whose
// logits each rank has some columns (SplitSoftmax.h has the other half).
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_SPLITLOOKUPS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_SPLITLOOKUPS_H

#include "PartNodes.h"

namespace regather::tg::spmd {

/// A node that reads rows of a table, or elements along a dimension.
struct Lookup {
  NodeOp node;
  /// Numbers of the operands.
  unsigned table, indices;
  /// The dimension of the table that is indexed.
  int64_t dim;
};

/// The lookup that `op` is, if one can be carried out on parts of what it
/// indexes.
std::optional<Lookup> matchLookup(mlir::Operation *op);

/// A rank's summand of the lookup in its part of the table. `state` says how
/// the table is cut: contiguously, along the dimension that is indexed.
mlir::Value buildLookup(const Lookup &lookup, mlir::Value table,
                        mlir::Value indices, const ValueState &state,
                        const DataMesh &mesh, Communication &communication);

/// A node whose result has, along one dimension, what indices say.
struct IndexedGradient {
  NodeOp node;
  /// Number of the operand with the indices.
  unsigned indices;
  /// The dimension of the result, and its size.
  int64_t dim, size;
};

std::optional<IndexedGradient> matchIndexedGradient(mlir::Operation *op);

/// True if the part of the result can be made of whole operands.
bool canBuildPart(const IndexedGradient &gradient, const ValueState &state);

/// The part of the result that `state` describes, of the node's operands.
mlir::Value buildPart(const IndexedGradient &gradient,
                      mlir::ValueRange operands, const ValueState &state,
                      const DataMesh &mesh, Communication &communication);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_SPLITLOOKUPS_H
