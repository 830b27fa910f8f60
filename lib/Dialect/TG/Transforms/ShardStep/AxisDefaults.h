//===- AxisDefaults.h - What axes of known names cut ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_AXISDEFAULTS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_AXISDEFAULTS_H

#include "../ShardParameters/DataMesh.h"
#include "Annotations.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace regather::tg::spmd {

/// Adds what axes cut of which annotations say nothing:
///
///   cp   the sequence: dimension 1 of inputs
///   ep   the experts: dimension 0 of the parameters that grouped GEMMs
///        multiply by, and the batch, dimension 0 of inputs, if all ranks that
///        would share it divide it
///
/// `axes` are those that do not split the batch, of `mesh`. Fails if ranks do
/// not divide the experts. Linear in the step.
mlir::LogicalResult addAxisDefaults(mlir::func::FuncOp func,
                                    const DataMesh &mesh,
                                    llvm::ArrayRef<std::string> axes,
                                    std::vector<Annotation> &annotations);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_AXISDEFAULTS_H
