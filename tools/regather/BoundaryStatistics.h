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

namespace regather {

/// Counts over all functions of `module`.
BoundaryCount countBoundary(mlir::ModuleOp module);

} // namespace regather

#endif // REGATHER_TOOLS_REGATHER_BOUNDARYSTATISTICS_H
