//===- ElasticAxis.h - An axis whose ranks decide no bit --------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_ELASTICAXIS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_ELASTICAXIS_H

#include "../ShardParameters/DataMesh.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace regather::tg::spmd {

/// Over how many equal segments of what an axis cuts sums are trees; an empty
/// name if no axis of the model is elastic.
struct AxisSegments {
  llvm::StringRef axis;
  int64_t segments = 0;
};

/// Reads option `elastic-axes`, such as tp:4, of a step that is cut over the
/// axes of `order`, one after the other. Emits an error if the segments are
/// not for the ranks of the axis, or if something stands in the way.
mlir::FailureOr<AxisSegments>
readElasticAxis(mlir::func::FuncOp func, const DataMesh &whole,
                llvm::ArrayRef<std::string> texts,
                llvm::ArrayRef<llvm::StringRef> order);

/// The mesh for which placements over an axis are chosen: that of as many ranks
/// as there are segments, so that the choice is the same on any number.
DataMesh getSearchMesh(const DataMesh &axisMesh);

/// Notes on the step that sums over the axis are trees.
void markElasticAxis(mlir::func::FuncOp func, const AxisSegments &elastic);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_ELASTICAXIS_H
