//===- Sections.h - Parts of a page -----------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_REPORT_SECTIONS_H
#define REGATHER_LIB_REPORT_SECTIONS_H

#include "regather/Report/StepReport.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace regather::report {

/// A part of the page with a heading, which the menu leads to.
struct Section {
  llvm::StringLiteral id, title;
  void (*write)(llvm::raw_ostream &os, const StepReport &report);
};

/// In the order of the page.
llvm::ArrayRef<Section> getSections();

/// The step in a few large numbers.
void writeSummary(llvm::raw_ostream &os, const StepReport &report);

void writeTimeline(llvm::raw_ostream &os, const StepReport &report);
void writeAdvice(llvm::raw_ostream &os, const StepReport &report);
void writeBuckets(llvm::raw_ostream &os, const StepReport &report);
void writeMemory(llvm::raw_ostream &os, const StepReport &report);
void writeParameters(llvm::raw_ostream &os, const StepReport &report);
void writeSaved(llvm::raw_ostream &os, const StepReport &report);
void writeRecomputed(llvm::raw_ostream &os, const StepReport &report);
void writeCollectives(llvm::raw_ostream &os, const StepReport &report);

} // namespace regather::report

#endif // REGATHER_LIB_REPORT_SECTIONS_H
