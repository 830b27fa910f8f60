//===- PrefetchUnits.h - Collectives that move by a distance ----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_TRANSFORMS_SCHEDULE_PREFETCHUNITS_H
#define REGATHER_LIB_DIALECT_TG_TRANSFORMS_SCHEDULE_PREFETCHUNITS_H

#include "regather/Analysis/OverlapSchedule/OverlapSchedule.h"
#include "regather/Dialect/TG/Steps/StepGraph.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace regather::tg::schedule {

/// The gathers of parameters of one phase, and the reductions of gradients: one
/// list for each phase and set of axes, since what is fetched ahead in backward
/// is not a matter of forward.
std::vector<PrefetchPlan> findPrefetchUnits(mlir::FunctionOpInterface func,
                                            const StepGraph &graph,
                                            unsigned depth);

} // namespace regather::tg::schedule

#endif // REGATHER_LIB_DIALECT_TG_TRANSFORMS_SCHEDULE_PREFETCHUNITS_H
