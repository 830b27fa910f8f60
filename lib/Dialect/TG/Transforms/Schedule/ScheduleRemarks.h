//===- ScheduleRemarks.h - What a schedule leaves exposed -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_TRANSFORMS_SCHEDULE_SCHEDULEREMARKS_H
#define REGATHER_LIB_DIALECT_TG_TRANSFORMS_SCHEDULE_SCHEDULEREMARKS_H

#include "regather/Analysis/OverlapSchedule/OverlapSchedule.h"
#include "regather/Dialect/TG/Steps/StepGraph.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace regather::tg::schedule {

/// Emits a remark for each of `exposed`, and one with the numbers of the step.
/// `graph` has the order in which the step came.
void emitRemarks(mlir::FunctionOpInterface func, const StepGraph &graph,
                 const OverlapSchedule &schedule,
                 llvm::ArrayRef<ExposedWait> exposed);

} // namespace regather::tg::schedule

#endif // REGATHER_LIB_DIALECT_TG_TRANSFORMS_SCHEDULE_SCHEDULEREMARKS_H
