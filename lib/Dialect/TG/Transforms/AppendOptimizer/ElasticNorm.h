//===- ElasticNorm.h - The norm of gradients, whatever the ranks -*- C++
//-*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_TRANSFORMS_ELASTICNORM_H
#define REGATHER_LIB_DIALECT_TG_TRANSFORMS_ELASTICNORM_H

#include "../TreeSums.h"
#include "SquareSums.h"

#include "llvm/ADT/MapVector.h"

namespace regather::tg {

/// Axes over which a tensor is sharded, in the order of the mesh, so that equal
/// sets are equal. Of those, only what `isWanted`.
AxesAttr getShardedAxes(PlacementAttr placement, MeshOp mesh,
                        llvm::function_ref<bool(mlir::StringAttr)> isWanted);

/// Sums the squares of those gradients of an elastic step that elastic axes
/// cut. What such axes cut together is a tree over segments: of rows, if the
/// batch cuts it, and of blocks, if an axis of the model does. Of gradients
/// whose rows the segments do not divide, all rows are added in one order.
/// Sums over other axes come last, in the order of their ranks.
class ElasticNorm {
public:
  /// `zero` is a scalar that sums begin with; `step` is elastic.
  ElasticNorm(mlir::ImplicitLocOpBuilder &b, mlir::Operation *step,
              mlir::Value zero)
      : b(b), step(step), zero(zero) {}

  /// Takes a gradient, unless no elastic axis cuts it. Emits an error if the
  /// batch cuts another dimension than rows.
  mlir::FailureOr<bool> take(const LocalGradient &gradient);

  /// Adds the sum of each group of gradients, one after the other, to `total`.
  mlir::Value addTo(mlir::Value total);

private:
  /// A gradient of which ranks have rows.
  struct RowGradient {
    LocalGradient local;
    /// Of what other axes cut, where some rank has padding.
    llvm::SmallVector<ValidSize> sizes;
    /// The rows of all ranks of the tree together.
    int64_t rows;
    /// The dimension that the elastic axis of the model cuts into blocks.
    int64_t blockDim = 0;
  };

  /// What gradients have in common whose squares are summed at once.
  struct Group {
    mlir::FlatSymbolRefAttr mesh;
    /// The axes that cut rows into segments, those of the batch and with it an
    /// axis of the model that cuts them first; and the ranks along these.
    AxesAttr rowAxes;
    int64_t ranks;
    int64_t segments;
    /// The elastic axis of the model that cuts blocks, without rows or another
    /// dimension; null if there is none.
    mlir::StringAttr blockAxis;
    /// Axes whose sums are in the order of their ranks.
    AxesAttr otherAxes;
  };

  mlir::Value buildBlockSum(llvm::ArrayRef<RowGradient> gradients,
                            const Group &group);
  mlir::Value buildRowSum(llvm::ArrayRef<RowGradient> gradients,
                          const Group &group);
  mlir::Value buildTreeSum(llvm::ArrayRef<RowGradient> gradients,
                           const Group &group);
  mlir::Value buildSumOfAllRows(llvm::ArrayRef<RowGradient> gradients,
                                const Group &group);
  TreeSums getTreeSums();

  mlir::ImplicitLocOpBuilder &b;
  mlir::Operation *step;
  mlir::Value zero;
  /// By mesh, and axes of rows, of blocks and others.
  llvm::MapVector<std::tuple<mlir::Attribute, mlir::Attribute, mlir::Attribute,
                             mlir::Attribute>,
                  std::pair<Group, llvm::SmallVector<RowGradient>>>
      groups;
};

} // namespace regather::tg

#endif // REGATHER_LIB_DIALECT_TG_TRANSFORMS_ELASTICNORM_H
