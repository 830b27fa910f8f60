//===- MergeParts.h - Make one function of a partitioned step - -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_STEPANALYSIS_MERGEPARTS_H
#define REGATHER_STEPANALYSIS_MERGEPARTS_H

#include "regather/StepAnalysis/AnalyzeStep.h"

namespace regather {

/// Puts the parts of a step that tg-partition has split behind each other
/// again, in one function `step` that takes their place. What is saved and
/// what is computed twice stays as it was decided. A step in one piece is left
/// alone. Emits errors.
mlir::FailureOr<AnalyzedStep> mergeParts(const AnalyzedStep &step);

} // namespace regather

#endif // REGATHER_STEPANALYSIS_MERGEPARTS_H
