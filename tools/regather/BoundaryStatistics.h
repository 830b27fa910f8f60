//===- BoundaryStatistics.h - What lives on to backward ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TOOLS_REGATHER_BOUNDARYSTATISTICS_H
#define REGATHER_TOOLS_REGATHER_BOUNDARYSTATISTICS_H

#include "StepStatistics.h"

#include "regather/Dialect/TG/Utils/ParameterChains.h"

namespace regather {

/// A forward value that backward reads, or that a forward part returns for it.
struct CrossingValue {
  mlir::Value value;
  int64_t bytes = 0;
  /// The parameter of which it is a gathered copy, or a view of one; else null.
  mlir::BlockArgument gathered;
};

/// In the order of the program.
std::vector<CrossingValue>
findCrossingValues(mlir::FunctionOpInterface func, const tg::StepGraph &graph,
                   const tg::ParameterChains &chains);

/// Operations of backward with the `tg.id` of one of forward, in the order of
/// the program.
std::vector<mlir::Operation *> findRecomputed(mlir::ModuleOp module);

/// Counts what lives on from forward to backward in the steps of `module`.
BoundaryCount countBoundary(mlir::ModuleOp module);

} // namespace regather

#endif // REGATHER_TOOLS_REGATHER_BOUNDARYSTATISTICS_H
