//===- FrontierChart.h - Memory against time --------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_REPORT_FRONTIERCHART_H
#define REGATHER_LIB_REPORT_FRONTIERCHART_H

#include "regather/Report/StepReport.h"

#include "llvm/Support/raw_ostream.h"

namespace regather::report {

/// A point for each choice, memory to the right and time upwards: a line
/// through those than which none is both smaller and quicker, a bar where the
/// limit is, and the one that was taken by name. Needs a choice.
void writeFrontierChart(llvm::raw_ostream &os, const MemoryChoices &memory);

} // namespace regather::report

#endif // REGATHER_LIB_REPORT_FRONTIERCHART_H
