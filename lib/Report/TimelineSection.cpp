//===- TimelineSection.cpp - The step on a cluster ------------------------===//
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

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>
#include <tuple>

using namespace regather::report;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

static void writeBar(llvm::raw_ostream &os, llvm::StringRef label,
                     double seconds, double whole, llvm::StringRef note) {
  os << formatv("<div>{0}</div><div class=\"track\"><i style=\"width:{1:F1}%\">"
                "</i><span>{2}{3}</span></div>\n",
                escape(label), whole > 0 ? 60 * seconds / whole : 0,
                regather::formatSeconds(seconds), escape(note));
}

static void writeBounds(llvm::raw_ostream &os, const StepTiming &timing) {
  os << "<h3>How far the step is from its bounds</h3>\n<p class=\"lead\">No "
        "order of these operations is quicker than any of the bounds.</p>\n"
        "<div class=\"bars\">\n";
  writeBar(os, "step", timing.seconds, timing.seconds, "");
  for (const TimeBound &bound : timing.bounds)
    writeBar(os, bound.name, bound.seconds, timing.seconds,
             bound.seconds > 0 ? formatv(", the step takes {0:F2} times that",
                                         timing.seconds / bound.seconds)
                                     .str()
                               : "");
  os << "</div>\n";
}

//===----------------------------------------------------------------------===//
// Exposed waits
//===----------------------------------------------------------------------===//

static constexpr Column kTimelineColumns[] = {{"exposed", ColumnKind::Number},
                                              {"waits", ColumnKind::Number},
                                              {"longest", ColumnKind::Number},
                                              {"collective", ColumnKind::Code},
                                              {"modules", ColumnKind::Code},
                                              {"phase"},
                                              {"why"}};

namespace {
/// Exposed waits of equal layers.
struct ExposedRow {
  std::vector<std::string> cells;
  int64_t count = 0;
  double seconds = 0, longest = 0;
};
} // namespace

/// The one that takes most time first.
static std::vector<ExposedRow> findExposed(const StepTiming &timing) {
  std::map<std::vector<std::string>, ExposedRow> rows;
  for (const TimedCollective &collective : timing.collectives) {
    if (collective.exposedSeconds <= 0)
      continue;
    std::vector<std::string> cells = {
        escape(collective.kind), escape(getModulePattern(collective.module)),
        escape(collective.phase), escape(getModulePattern(collective.reason))};
    ExposedRow &row = rows[cells];
    row.cells = std::move(cells);
    ++row.count;
    row.seconds += collective.exposedSeconds;
    row.longest = std::max(row.longest, collective.exposedSeconds);
  }
  std::vector<ExposedRow> sorted;
  for (auto &[cells, row] : rows)
    sorted.push_back(std::move(row));
  llvm::sort(sorted, [](const ExposedRow &lhs, const ExposedRow &rhs) {
    return std::tie(rhs.seconds, lhs.cells) < std::tie(lhs.seconds, rhs.cells);
  });
  return sorted;
}

static void writeExposed(llvm::raw_ostream &os, const StepTiming &timing) {
  std::vector<ExposedRow> rows = findExposed(timing);
  if (rows.empty())
    return;
  Table table(kTimelineColumns);
  int64_t count = 0;
  for (const ExposedRow &row : rows) {
    count += row.count;
    table.addRow({regather::formatSeconds(row.seconds), formatCount(row.count),
                  regather::formatSeconds(row.longest), row.cells[0],
                  row.cells[1], row.cells[2], row.cells[3]});
  }
  table.setTotal({regather::formatSeconds(timing.exposedSeconds),
                  formatCount(count), "", "", "", "", ""});
  os << "<h3>Exposed waits</h3>\n<p class=\"lead\">While these last, nothing "
        "is computed.</p>\n";
  table.write(os);
}

void regather::report::writeTimeline(llvm::raw_ostream &os,
                                     const StepReport &report) {
  const StepTiming &timing = report.timing;
  if (!timing.obstacle.empty()) {
    os << "<p>The step cannot be simulated: " << escape(timing.obstacle)
       << ".</p>\n";
    return;
  }
  if (timing.ops.empty()) {
    os << "<p>The program is empty.</p>\n";
    return;
  }
  os << formatv(
      "<p class=\"lead\">Kernels and collectives as they would run on "
      "{0} ({1}). {2}. Scroll to zoom, drag to move, double-click for "
      "all of it.</p>\n",
      escape(timing.cluster), escape(timing.device),
      escape(timing.timeline.name));
  regather::writeTimelineFigure(os, timing.timeline, timing.ops);
  writeBounds(os, timing);
  writeExposed(os, timing);
}
