//===- SomeUnits.h - Policies for some of the layers ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DRIVER_MEMORY_SOMEUNITS_H
#define REGATHER_LIB_DRIVER_MEMORY_SOMEUNITS_H

#include "regather/Pipelines/StepOptions.h"

namespace regather {

/// How many units a policy is for, if modules of backward are those of forward.
int64_t countUnits(mlir::ModuleOp module);

/// True if the policy is for the first units alone.
bool hasSomeUnits(const StepOptions &options);

/// The decisions, with the policy of `smaller` for the first `numUnits` units.
/// Those behind them have the one that there was, or none.
StepOptions withSomeUnits(const StepOptions &options,
                          const StepOptions &smaller, int64_t numUnits);

/// What each unit that has the policy of some units takes less: what is saved
/// belongs to the others. 0 if nobody can tell.
int64_t getUnitBytes(const StepOptions &options, int64_t savedBytes,
                     int64_t numUnits);

} // namespace regather

#endif // REGATHER_LIB_DRIVER_MEMORY_SOMEUNITS_H
