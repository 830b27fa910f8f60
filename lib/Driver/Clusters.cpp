//===- Clusters.cpp - Where a step is simulated ---------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/Clusters.h"

using namespace mlir;
using namespace regather;

FailureOr<CostModel> regather::loadCostModel(MLIRContext *context,
                                             StringRef cluster) {
  Result<Cluster> loaded = loadCluster(cluster);
  if (loaded)
    return CostModel(std::move(*loaded));
  return emitError(UnknownLoc::get(context)) << loaded.getMessage();
}

FailureOr<CostModel> regather::loadChosenCluster(ModuleOp module,
                                                 const StepOptions &options) {
  return loadCostModel(module.getContext(), chooseCluster(options, module));
}
