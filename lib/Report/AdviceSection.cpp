//===- AdviceSection.cpp - What would help a step -------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Format.h"
#include "Sections.h"
#include "Table.h"

#include "regather/Timeline/WriteTimeline.h"

#include "llvm/Support/FormatVariadic.h"

using namespace regather::report;
using llvm::formatv;

/// Less of the step than this is not worth hiding.
static constexpr double kLittle = 0.03;

/// What the time of the step is spent on, in a sentence or two.
static void writeVerdict(llvm::raw_ostream &os, const StepTiming &timing) {
  if (timing.seconds <= 0)
    return;
  double exposed = timing.exposedSeconds / timing.seconds;
  os << "<p>";
  if (timing.communicationSeconds == 0)
    os << "The step does not communicate";
  else if (exposed < kLittle)
    os << formatv("Communication is hidden but for {0} of the step",
                  regather::formatPercent(exposed));
  else
    os << formatv("For {0} of the step the device waits for communication",
                  regather::formatPercent(exposed));
  os << formatv(
      "; it computes for {0}",
      regather::formatPercent(timing.computeSeconds / timing.seconds));
  if (timing.utilization > 0)
    os << formatv(", at {0} of the device's peak over the whole step",
                  regather::formatPercent(timing.utilization));
  os << '.';
  if (timing.deviceBytes > 0 && timing.peakBytes > timing.deviceBytes)
    os << formatv(" <b class=\"worse\">It needs {0}, but a device has {1}.</b>",
                  formatBytes(timing.peakBytes),
                  formatBytes(timing.deviceBytes));
  os << "</p>\n";
}

static std::string getChange(double before, double after) {
  std::string change = formatChange(before, after);
  return change.empty() ? ""
                        : formatv(" <span class=\"{0}\">{1}</span>",
                                  after < before   ? "better"
                                  : before < after ? "worse"
                                                   : "quiet",
                                  change)
                              .str();
}

static constexpr Column kAdviceColumns[] = {
    {"change"},
    {"step", ColumnKind::Number},
    {"exposed", ColumnKind::Number},
    {"peak memory", ColumnKind::Number}};

static std::string getTitle(const Advice &advice) {
  std::string title = "<b>" + escape(advice.title) + "</b>";
  if (!advice.flags.empty())
    title += "<br><code>" + escape(advice.flags) + "</code>";
  title += "<br><span class=\"quiet\">" + escape(advice.explanation);
  if (!advice.formula.empty())
    title += " Estimate: " + escape(advice.formula);
  return title + "</span>";
}

void regather::report::writeAdvice(llvm::raw_ostream &os,
                                   const StepReport &report) {
  const StepTiming &timing = report.timing;
  if (timing.ops.empty()) {
    os << "<p>Nothing can be said without a simulation.</p>\n";
    return;
  }
  writeVerdict(os, timing);
  if (report.advice.empty()) {
    os << "<p>None of the changes that were tried makes the step quicker, or "
          "smaller where memory is short.</p>\n";
    return;
  }
  os << "<p class=\"lead\">Steps that were prepared and simulated in the same "
        "way, unless an estimate is mentioned. Where a step works on more "
        "or fewer rows, times are those of as many as now.</p>\n";
  Table table(kAdviceColumns);
  for (const Advice &advice : report.advice)
    table.addRow(
        {getTitle(advice),
         regather::formatSeconds(advice.getSecondsPerBatch()) +
             getChange(timing.seconds, advice.getSecondsPerBatch()),
         regather::formatSeconds(advice.exposedSeconds / advice.batches),
         formatBytes(advice.peakBytes) +
             getChange(double(timing.peakBytes), double(advice.peakBytes))});
  table.setTotal({"this step", regather::formatSeconds(timing.seconds),
                  regather::formatSeconds(timing.exposedSeconds),
                  formatBytes(timing.peakBytes)});
  table.write(os);
}
