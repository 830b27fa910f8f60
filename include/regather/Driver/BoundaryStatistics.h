//===- BoundaryStatistics.h - What lives on to backward ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DRIVER_BOUNDARYSTATISTICS_H
#define REGATHER_DRIVER_BOUNDARYSTATISTICS_H

#include "regather/Driver/StepStatistics.h"

#include "regather/Dialect/TG/Chains/CrossingValues.h"

namespace regather {

/// Operations of backward with the `tg.id` of one of forward, in the order of
/// the program.
std::vector<mlir::Operation *> findRecomputed(mlir::ModuleOp module);

/// Counts what lives on from forward to backward in the steps of `module`.
BoundaryCount countBoundary(mlir::ModuleOp module);

} // namespace regather

#endif // REGATHER_DRIVER_BOUNDARYSTATISTICS_H
