//===- FlatBuffers.h - Parameters behind each other -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_FLATBUFFERS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_FLATBUFFERS_H

#include "Gradients.h"

namespace regather::tg::spmd {

/// Parameters of one unit that are one argument, and that an optimizer treats
/// alike. Every rank holds `shardSize` elements of it; the parameters begin at
/// `offsets` of all shards together, and what belongs to none is zero.
struct FlatBuffer {
  unsigned unit;
  /// Module path of the unit.
  std::string path;
  /// What the optimizer tells apart, such as `matrices`.
  std::string group;
  std::string name;
  /// The ranks that share it.
  Group over = Group::Shard;
  /// In registration order.
  llvm::SmallVector<unsigned> parameters;
  llvm::SmallVector<int64_t> offsets;
  int64_t shardSize = 0;
  /// Element types of the argument and of what is gathered.
  mlir::Type stored, gathered;
  /// Element types of what the backward pass computes and of the gradient that
  /// leaves the step; null if the parameters are frozen.
  mlir::Type computed, gradient;
  /// What the computed gradients are cast to before they are the result.
  llvm::SmallVector<mlir::Type, 1> casts;

  /// The elements of all shards.
  int64_t getSize(const DataMesh &mesh) const {
    return shardSize * mesh.getRanks(over);
  }
};

struct FlatOptions {
  /// Bytes; a power of two.
  int64_t alignment;
  /// Patterns of names of parameters that get settings of their own.
  llvm::ArrayRef<std::string> groups;
};

/// Marks the parameters that can lie in a buffer: those that are to be sharded
/// and that neither the step's own optimizer nor its results read. They count
/// as sharded from now on, scalars too. Those of which the ranks of an axis
/// that cut the model have copies are shared by these ranks as well, see
/// `widenParameters`; without a shard axis, by these alone.
void markFlatParameters(Step &step, const DataMesh &mesh);

/// Lays out the marked parameters of each unit: one buffer for all that have
/// equal element types, are trained or frozen alike, and belong to the same
/// optimizer group. Without a pattern of `options.groups` that matches,
/// matrices are one group, and vectors and scalars another. Emits an error if a
/// pattern is malformed or matches no parameter.
mlir::FailureOr<std::vector<FlatBuffer>>
planFlatBuffers(const Step &step, llvm::ArrayRef<Unit> units,
                const GradientPlan &plan, const DataMesh &mesh,
                const ElementTypes &types, const FlatOptions &options);

/// Where the parameters of `buffer` lie.
MembersAttr getMembers(const Step &step, const FlatBuffer &buffer);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_FLATBUFFERS_H
