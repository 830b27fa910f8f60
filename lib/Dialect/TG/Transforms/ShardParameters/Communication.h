//===- Communication.h - Operations that the partitioner inserts -*- C++
//-*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_COMMUNICATION_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_COMMUNICATION_H

#include "../TreeSums.h"
#include "DataMesh.h"

#include "mlir/IR/Builders.h"

namespace regather::tg::spmd {

/// Inserts collectives with their waits, slices and casts at a place that the
/// caller sets. All that is inserted carries the phase and the module path of
/// what it is inserted for.
class Communication {
public:
  /// Positions of the running rank are computed at the start of `block`.
  Communication(const DataMesh &mesh, mlir::Block &block);

  /// Inserts before `op` from now on, on behalf of `op`.
  void setPlace(mlir::Operation *op);
  /// The same, with another module path; inserts after `op` if `after`.
  void setPlace(mlir::Operation *op, Phase phase, mlir::StringAttr module,
                bool after = false);

  /// Where something is inserted, and on whose behalf.
  struct Place {
    mlir::OpBuilder::InsertPoint point;
    mlir::Location loc;
    PhaseAttr phase;
    mlir::StringAttr module;
  };
  Place getPlace() const;
  void setPlace(const Place &place);

  /// Each gives one tensor for each input. In an elastic step, reductions are
  /// trees over the ranks, and none is a mean.
  llvm::SmallVector<mlir::Value> gather(mlir::ValueRange shards, int64_t dim,
                                        AxesAttr axes, mlir::TypeRange types);
  llvm::SmallVector<mlir::Value> reduce(mlir::ValueRange values,
                                        Reduction reduction, AxesAttr axes);
  llvm::SmallVector<mlir::Value> scatter(mlir::ValueRange values,
                                         Reduction reduction, int64_t dim,
                                         AxesAttr axes, int64_t ranks);

  /// The whole of type `type` of which `part` is what `state` leaves to this
  /// rank, and this rank's part of a reduced value.
  mlir::Value gatherParts(mlir::Value part, const ValueState &state,
                          mlir::Type type);
  mlir::Value scatterParts(mlir::Value value, Reduction reduction,
                           const ValueState &state);
  /// A value that is cut as `from` says, cut as `to` does along another
  /// dimension. Both sizes are divisible by the ranks.
  mlir::Value exchange(mlir::Value part, const ValueState &from,
                       const ValueState &to);

  /// `dim` is cut into as many blocks as there are ranks along `axes`, which
  /// divide it; block j of rank i becomes block i of rank j.
  mlir::Value swap(mlir::Value value, int64_t dim, AxesAttr axes);

  /// The part of random bits, drawn where it is needed: its elements are those
  /// of the whole. Null if `whole` is nothing drawn, or its part is no block.
  mlir::Value drawPart(mlir::Value whole, const ValueState &state);

  /// Makes every rank draw its own bits: those of its part of the batch. What
  /// draws for one of `parts` micro-batches begins in the rank's own bits.
  void drawOwn(RandomOp random, int64_t parts);

  /// The part of a whole value that `state` leaves to this rank.
  mlir::Value slice(mlir::Value whole, const ValueState &state);

  /// Segment `number` of `count` equal ones of what is cut, in each outer part,
  /// and all of these together again.
  mlir::Value takeSegment(mlir::Value value, DimCut cut, int64_t number,
                          int64_t count);
  mlir::Value joinSegments(mlir::ValueRange segments, DimCut cut);

  /// The tensors of these types at `offsets` of a flat one, and the way back.
  llvm::SmallVector<mlir::Value> unflatten(mlir::Value flat,
                                           llvm::ArrayRef<int64_t> offsets,
                                           mlir::TypeRange types);
  mlir::Value flatten(mlir::ValueRange tensors, llvm::ArrayRef<int64_t> offsets,
                      int64_t size);

  /// `value` with another type of elements.
  mlir::Value castTo(mlir::Value value, mlir::Type element);

  mlir::OpBuilder &getBuilder() { return builder; }
  /// The operation in front of where something is inserted; null if there is
  /// none.
  mlir::Operation *getLastInserted();
  /// Sums at the current place.
  TreeSums getTreeSums() { return {builder, loc, phase, module}; }
  int64_t getNumCollectives() const { return numCollectives; }

private:
  /// `value` with the outer parts of dimensions in dimensions of their own,
  /// and the way back to `type`.
  mlir::Value expandOuter(mlir::Value value, llvm::ArrayRef<DimCut> cuts);
  mlir::Value collapseOuter(mlir::Value value, llvm::ArrayRef<DimCut> cuts,
                            mlir::RankedTensorType type);
  /// First element of this rank's part, of `size` elements.
  mlir::Value getOffset(Group group, int64_t size);
  mlir::Value makeEmpty(mlir::RankedTensorType type);
  /// Marks `op`, and gives its results.
  mlir::Operation *mark(mlir::Operation *op);
  llvm::SmallVector<mlir::Value> wait(mlir::Operation *collective);

  const DataMesh &mesh;
  mlir::Block &block;
  mlir::OpBuilder builder;
  mlir::Location loc;
  PhaseAttr phase;
  mlir::StringAttr module;
  /// The last operation of those that compute positions.
  mlir::Operation *lastOffset = nullptr;
  llvm::DenseMap<std::pair<unsigned, int64_t>, mlir::Value> offsets;
  int64_t numCollectives = 0;
};

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_COMMUNICATION_H
