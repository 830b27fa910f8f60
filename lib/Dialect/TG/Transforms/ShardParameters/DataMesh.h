//===- DataMesh.h - The ranks that share a batch ----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_DATAMESH_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_DATAMESH_H

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/IR/BuiltinOps.h"

namespace regather::tg::spmd {

/// What is split over which ranks.
enum class Group {
  /// The batch, over all data axes.
  Data,
  /// Parameters, their gradients and optimizer states, over the shard axis.
  Shard,
  /// Parameters that an axis which cuts the model leaves whole: over the shard
  /// axis and that one.
  Wide,
};

/// How a dimension is cut: into equal blocks of what is left of it when its
/// `outer` outermost parts are told apart. Of [b, s, w], cut along s, the view
/// [b * s, w] is cut along dimension 0 with b outer parts: each rank has its
/// block of each of them. Cut into contiguous blocks if `outer` is 1.
struct DimCut {
  DimCut(int64_t dim, int64_t outer = 1) : dim(dim), outer(outer) {}
  operator int64_t() const { return dim; }
  bool operator==(const DimCut &other) const {
    return dim == other.dim && outer == other.outer;
  }

  int64_t dim;
  int64_t outer;
};

/// How the values of a step lie over the ranks of a group.
struct ValueState {
  enum class Kind {
    /// Equal on all ranks.
    Whole,
    /// Cut along `dim` into equal blocks in rank order, in each of `outer`
    /// parts; padded at the end if the size is not divisible, which only
    /// happens in the group `Shard` and with one part.
    Split,
    /// The reduction of the values of all ranks.
    Partial,
  };
  Kind kind = Kind::Whole;
  Group group = Group::Data;
  int64_t dim = 0;
  int64_t outer = 1;
  Reduction reduction = Reduction::Sum;
  /// Of parts whose rows each rank has sorted, the number of the sort, counted
  /// from 1; see SortedRows. No conversion leads there or away.
  unsigned order = 0;

  static ValueState getWhole() { return {}; }
  static ValueState getSplit(Group group, DimCut cut) {
    return {Kind::Split, group, cut.dim, cut.outer, Reduction::Sum, 0};
  }
  static ValueState getPartial(Group group, Reduction reduction) {
    return {Kind::Partial, group, 0, 1, reduction, 0};
  }
  DimCut getCut() const { return {dim, outer}; }
  bool isContiguous() const { return outer == 1; }
  bool isWhole() const { return kind == Kind::Whole; }
  bool isSplit() const { return kind == Kind::Split; }
  bool isPartial() const { return kind == Kind::Partial; }
  bool operator==(const ValueState &other) const {
    return kind == other.kind && group == other.group && dim == other.dim &&
           outer == other.outer && reduction == other.reduction &&
           order == other.order;
  }
};

/// Sizes and names of the axes, as the options of the pass give them.
struct DataMesh {
  mlir::FlatSymbolRefAttr symbol;
  AxesAttr axes;
  llvm::SmallVector<int64_t> sizes;

  /// All axes over which the batch is split: replicate and shard axis, in the
  /// order of the mesh.
  AxesAttr dataAxes;
  /// Null if parameters are replicated everywhere.
  AxesAttr shardAxes;
  /// Null if no axis only replicates.
  AxesAttr replicateAxes;
  /// Axes over which the step was sharded before; null if there are none.
  AxesAttr modelAxes;
  /// Those of them over which parameters that lie whole are sharded, too, and
  /// these with the shard axis, in the order of the mesh; null if there are
  /// none.
  AxesAttr copyAxes;
  AxesAttr wideAxes;
  int64_t dataRanks = 1;
  int64_t shardRanks = 1;
  int64_t replicateRanks = 1;
  int64_t wideRanks = 1;
  /// Into how many equal segments sums cut what a group splits, whatever the
  /// ranks; 0 if they are in the order of the ranks.
  int64_t segments = 0;
  /// That group: the ranks of the batch, or those of an axis that cuts the
  /// model.
  Group segmented = Group::Data;
  /// The number of ranks along an axis that cut the step before decides the
  /// sizes of its values, but must not decide anything else.
  bool ignoresSizes = false;

  AxesAttr getAxes(Group group) const;
  int64_t getRanks(Group group) const;
  /// The number of ranks along axes of this mesh.
  int64_t countRanks(AxesAttr along) const;
  /// True if sums over what the group splits are trees over segments.
  bool hasSegments(Group group) const {
    return segments != 0 && group == segmented;
  }
  /// Into how many equal blocks a dimension has to be divisible. What is
  /// decided by this number does not depend on the ranks of an elastic step.
  int64_t getBlocks(Group group) const {
    return hasSegments(group) ? segments : getRanks(group);
  }
  /// How many segments a rank holds.
  int64_t getSegmentsPerRank() const {
    return segments ? segments / getRanks(segmented) : 1;
  }
  /// The type in which what is computed in `element` is summed over a group.
  /// An elastic step adds segments, and ranks, in f32 if it is narrower: each
  /// addition in bf16 would round.
  mlir::Type getSumType(mlir::Type element) const;
  /// The type of one rank's part of a value of type `global`.
  mlir::RankedTensorType getLocalType(mlir::RankedTensorType global,
                                      const ValueState &state) const;
  /// The type of the values of all ranks, of type `own`, behind each other
  /// along dimension 0.
  mlir::RankedTensorType getJointType(mlir::RankedTensorType own) const;
  /// The placement of such a value, of type `type` before it is cut, where
  /// `before` cut it over other axes (null if nothing did). Null if it is whole
  /// over all axes. A dimension that is cut twice has equal parts.
  PlacementAttr getPlacement(mlir::RankedTensorType type,
                             const ValueState &state,
                             PlacementAttr before = nullptr) const;
};

/// The options that describe the mesh.
struct MeshOptions {
  /// `axis:size`, one for each axis.
  llvm::ArrayRef<std::string> axes;
  llvm::StringRef name;
  llvm::StringRef shardAxis;
  llvm::StringRef replicateAxis;
  /// Axes that other passes take care of.
  llvm::ArrayRef<std::string> modelAxes = {};
  /// Those of them over which copies of parameters are sharded.
  llvm::ArrayRef<std::string> copyAxes = {};
};

/// Reads the axes of a mesh, their sizes and its name; the rest of the result
/// is not set.
mlir::FailureOr<DataMesh> readMesh(mlir::ModuleOp module,
                                   const MeshOptions &options);

/// Emits an error unless `name`, which `option` gives, is an axis of `mesh` or
/// empty.
mlir::LogicalResult checkAxis(mlir::ModuleOp module, const DataMesh &mesh,
                              llvm::StringRef option, llvm::StringRef name);

/// Reads the options; emits an error at `module` that names the option.
mlir::FailureOr<DataMesh> readDataMesh(mlir::ModuleOp module,
                                       const MeshOptions &options);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_DATAMESH_H
