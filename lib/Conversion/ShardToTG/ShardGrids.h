//===- ShardGrids.h - Grids of the shard dialect as meshes ------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shard dialect numbers the axes of a grid, tg names those of a mesh. Both
// count devices row-major, the last axis fastest, and members of a group
// row-major in the order in which its axes are listed.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_CONVERSION_SHARDTOTG_SHARDGRIDS_H
#define REGATHER_LIB_CONVERSION_SHARDTOTG_SHARDGRIDS_H

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"

namespace regather::shardtotg {

/// The names that the axes of all grids of a module get.
class AxisNames {
public:
  /// Names axes `axis0`, `axis1`, ... unless names are given.
  explicit AxisNames(mlir::MLIRContext *context,
                     mlir::ArrayRef<std::string> given = {})
      : context(context), given(given) {}

  mlir::ArrayRef<std::string> getGiven() const { return given; }
  mlir::StringAttr getName(int64_t axis) const;
  /// The axes of these numbers, in their order.
  tg::AxesAttr getAxes(mlir::ArrayRef<mlir::shard::GridAxis> axes) const;
  /// All axes of a grid.
  tg::AxesAttr getAllAxes(mlir::shard::GridOp grid) const;
  /// `placement`, whose axes bear the default names, with these names.
  tg::PlacementAttr rename(tg::PlacementAttr placement) const;

private:
  mlir::MLIRContext *context;
  mlir::ArrayRef<std::string> given;
};

/// Number of devices in a group over `axes`; 0 if a size is dynamic, or if they
/// are more than can be counted.
int64_t getGroupSize(mlir::shard::GridOp grid,
                     mlir::ArrayRef<mlir::shard::GridAxis> axes);

/// Position of a device in its group, row-major in the order of `axes`.
int64_t getLinearIndex(mlir::shard::GridOp grid,
                       mlir::ArrayRef<mlir::shard::GridAxis> axes,
                       mlir::ArrayRef<int64_t> index);

/// The mesh that a grid becomes, not inserted anywhere; nothing, after an
/// error, if there is none.
mlir::FailureOr<mlir::OwningOpRef<tg::MeshOp>>
buildMesh(mlir::shard::GridOp grid, const AxisNames &names);

} // namespace regather::shardtotg

#endif // REGATHER_LIB_CONVERSION_SHARDTOTG_SHARDGRIDS_H
