//===- JoinParts.h - One step of two functions ------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_STEPANALYSIS_JOINPARTS_H
#define REGATHER_LIB_STEPANALYSIS_JOINPARTS_H

#include "regather/StepAnalysis/AnalyzeStep.h"

namespace regather {

/// Makes `step`, which is the forward part, the step that it is together with
/// `backward`: the results of backward follow those of forward that are not
/// saved. Emits an error if backward does not take the arguments of forward and
/// then values that forward saves, or if two results have one name or are the
/// loss.
mlir::LogicalResult joinParts(AnalyzedStep &step, const AnalyzedStep &backward);

} // namespace regather

#endif // REGATHER_LIB_STEPANALYSIS_JOINPARTS_H
