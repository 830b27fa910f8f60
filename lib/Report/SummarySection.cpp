//===- SummarySection.cpp - The step in a few large numbers ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Format.h"
#include "Sections.h"

#include "regather/Timeline/WriteTimeline.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace regather::report;

/// A number with what it was before; less is better.
static void writeCard(llvm::raw_ostream &os, const std::string &label,
                      const std::string &value, const std::string &note) {
  os << "<div class=\"card\"><span class=\"label\">" << escape(label)
     << "</span><b>" << value << "</b><span class=\"note\">" << note
     << "</span></div>\n";
}

static std::string getChange(int64_t before, int64_t after) {
  if (before == after)
    return "unchanged by the passes";
  std::string change = formatChange(double(before), double(after));
  return llvm::formatv(
      "was {0}{1}{2}", formatBytes(before), change.empty() ? "" : ", ",
      change.empty()
          ? ""
          : llvm::formatv("<span class=\"{0}\">{1}</span>",
                          after < before ? "better" : "worse", change)
                .str());
}

/// The time of the step, and what of it is waiting, if it is known.
static void writeTimeCards(llvm::raw_ostream &os, const StepReport &report) {
  const StepTiming &before = report.timingBefore, &after = report.timing;
  if (after.ops.empty())
    return;
  // What is less than half a percent is not worth a word.
  std::string change;
  if (!before.ops.empty() &&
      std::abs(after.seconds - before.seconds) > 0.005 * before.seconds)
    change = formatChange(before.seconds, after.seconds);
  std::string note =
      llvm::formatv("{0} above the lower bound",
                    regather::formatPercent(after.getAboveBound()));
  if (!change.empty())
    note = llvm::formatv("was {0}, <span class=\"{1}\">{2}</span>; {3}",
                         regather::formatSeconds(before.seconds),
                         after.seconds < before.seconds ? "better" : "worse",
                         change, note);
  writeCard(os, "Step on " + after.cluster,
            regather::formatSeconds(after.seconds), note);
  if (after.communicationSeconds == 0)
    return;
  writeCard(os, "Exposed communication",
            regather::formatSeconds(after.exposedSeconds),
            llvm::formatv("{0} of {1} hidden",
                          regather::formatPercent(after.hiddenPart),
                          regather::formatSeconds(after.communicationSeconds)));
}

static int64_t getReceivedBytes(const StepState &state) {
  int64_t bytes = 0;
  for (const CollectiveGroup &group : state.collectives)
    bytes += group.bytes;
  return bytes;
}

void regather::report::writeSummary(llvm::raw_ostream &os,
                                    const StepReport &report) {
  const Overview &step = report.overview;
  const StepState &before = report.before, &after = report.after;
  os << "<div class=\"cards\">\n";
  writeTimeCards(os, report);
  writeCard(
      os, "Peak memory of a rank", formatBytes(after.memory.getPeakBytes()),
      getChange(before.memory.getPeakBytes(), after.memory.getPeakBytes()));
  writeCard(os, "Living on from forward to backward",
            formatBytes(after.boundary.savedBytes),
            getChange(before.boundary.savedBytes, after.boundary.savedBytes));
  writeCard(
      os, "Of these, gathered parameters",
      formatBytes(after.boundary.gatheredBytes),
      getChange(before.boundary.gatheredBytes, after.boundary.gatheredBytes));
  std::string share = formatShare(after.boundary.recomputedFlops, step.flops);
  writeCard(os, "Computed again", formatFlops(after.boundary.recomputedFlops),
            share.empty() ? "" : share + " of the step");
  writeCard(os, "Received by a rank", formatBytes(getReceivedBytes(after)),
            getChange(getReceivedBytes(before), getReceivedBytes(after)));
  writeCard(os, "Parameters", formatCount(step.parameterElements),
            llvm::formatv("{0} in {1} tensors, {2} on each rank",
                          formatBytes(step.parameterBytes),
                          formatCount(step.parameters),
                          formatBytes(step.parameterBytesPerRank)));
  os << "</div>\n";
}
