//===- WriteTimeline.h - Timelines as files ---------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TIMELINE_WRITETIMELINE_H
#define REGATHER_TIMELINE_WRITETIMELINE_H

#include "regather/Timeline/Timeline.h"

#include "llvm/Support/raw_ostream.h"

namespace regather {

/// Writes what Perfetto and chrome://tracing open: a process for each timeline,
/// a thread for each lane, a counter of the bytes in use, and arrows from
/// collectives to the waits that they hold up.
void writeTrace(llvm::raw_ostream &os, llvm::ArrayRef<Timeline> timelines,
                const TimedGraph &graph, llvm::ArrayRef<TimelineOp> ops);

/// A picture for a page with `getTimelineStyle` and, to zoom and to show what
/// is under the mouse, `getTimelineScript`. Boxes of one kind that share a
/// pixel are drawn as one: its size does not grow with the step.
void writeTimelineFigure(llvm::raw_ostream &os, const Timeline &timeline,
                         llvm::ArrayRef<TimelineOp> ops);

llvm::StringRef getTimelineStyle();
llvm::StringRef getTimelineScript();

/// A number and what it means.
struct TimelineCard {
  std::string label, value, note;
};

/// A bar, of which several are compared.
struct TimelineBar {
  std::string label;
  double seconds = 0;
};

struct TimelineTable {
  std::string title, lead;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

/// What stands around a timeline.
struct TimelinePage {
  std::string title;
  std::vector<std::string> chips;
  std::vector<TimelineCard> cards;
  std::string barsTitle, barsLead;
  std::vector<TimelineBar> bars;
  std::vector<TimelineTable> tables;
};

/// A page that needs no other file.
void writeTimelinePage(llvm::raw_ostream &os, const TimelinePage &page,
                       const Timeline &timeline,
                       llvm::ArrayRef<TimelineOp> ops);

/// Three digits and a unit: "12.3 ms", "4.56 GB".
std::string formatSeconds(double seconds);
std::string formatBytes(int64_t bytes);
/// One digit after the point: "97.2 %".
std::string formatPercent(double fraction);
/// The text as HTML shows it.
std::string escapeHtml(llvm::StringRef text);

} // namespace regather

#endif // REGATHER_TIMELINE_WRITETIMELINE_H
