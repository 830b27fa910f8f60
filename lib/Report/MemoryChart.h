//===- MemoryChart.h - Bytes in use over a program --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_REPORT_MEMORYCHART_H
#define REGATHER_LIB_REPORT_MEMORYCHART_H

#include "regather/Report/StepReport.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace regather::report {

/// Name of a use in legends, and its class in the style sheet.
llvm::StringRef getUseName(MemoryUse use);
std::string getUseClass(MemoryUse use);

/// Two charts, one below the other, of the uses of memory as stacked areas.
/// Both have the scale of the larger one and phases at the same places, so that
/// an operation stands below itself; the second one has the outline of the
/// first.
void writeMemoryCharts(llvm::raw_ostream &os, const MemoryCurve &before,
                       const MemoryCurve &after);

} // namespace regather::report

#endif // REGATHER_LIB_REPORT_MEMORYCHART_H
