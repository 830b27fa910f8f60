//===- Clusters.h - Where a step is simulated -------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DRIVER_CLUSTERS_H
#define REGATHER_DRIVER_CLUSTERS_H

#include "regather/Analysis/Cost/CostModel.h"
#include "regather/Pipelines/StepOptions.h"

namespace regather {

/// Reads a cluster by name or file. Emits an error if there is none.
mlir::FailureOr<CostModel> loadCostModel(mlir::MLIRContext *context,
                                         llvm::StringRef cluster);

/// The cluster of the options, or that which they would choose for `module`.
mlir::FailureOr<CostModel> loadChosenCluster(mlir::ModuleOp module,
                                             const StepOptions &options);

} // namespace regather

#endif // REGATHER_DRIVER_CLUSTERS_H
