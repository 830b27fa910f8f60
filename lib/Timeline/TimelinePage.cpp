//===- TimelinePage.cpp - The page around a timeline ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Timeline/WriteTimeline.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace regather;
using llvm::formatv;

/// Of the page; a figure brings its own.
static constexpr llvm::StringLiteral kPageStyle = R"css(
:root {
  --paper: #ffffff; --ink: #1c2430; --quiet: #5d6b7e; --line: #e3e8ef;
  --panel: #f6f8fb; --accent: #1f5fbf;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #12161d; --ink: #dfe6f0; --quiet: #94a2b8; --line: #2a3340;
    --panel: #1a212b; --accent: #7ab0f5;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 32px 28px 80px; max-width: 1240px;
  background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif;
}
h1 { font-size: 26px; font-weight: 650; margin: 0; letter-spacing: -.01em; }
h2 { font-size: 19px; font-weight: 620; margin: 40px 0 6px; }
p { margin: 4px 0 12px; max-width: 90ch; }
.lead { color: var(--quiet); }
.chips { display: flex; flex-wrap: wrap; gap: 6px; margin: 10px 0 20px; }
.chips span {
  border: 1px solid var(--line); border-radius: 999px; padding: 1px 10px;
  font-size: 13px; color: var(--quiet); background: var(--panel);
}
.cards {
  display: grid; gap: 12px;
  grid-template-columns: repeat(auto-fit, minmax(190px, 1fr));
}
.card {
  border: 1px solid var(--line); border-radius: 10px; padding: 12px 16px;
  background: var(--panel);
}
.card b { display: block; font-size: 24px; font-weight: 640; line-height: 1.3; }
.card span { color: var(--quiet); font-size: 13px; display: block; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th {
  text-align: left; font-weight: 600; font-size: 12.5px; color: var(--quiet);
  border-bottom: 1px solid var(--line); padding: 5px 10px 5px 0;
}
td {
  border-bottom: 1px solid var(--line); padding: 5px 10px 5px 0;
  vertical-align: top; overflow-wrap: anywhere;
  font-variant-numeric: tabular-nums;
}
.bars { display: grid; grid-template-columns: max-content 1fr; gap: 6px 14px;
  align-items: center; font-size: 14px; }
.bars .track { display: flex; align-items: center; gap: 10px; }
.bars i { display: block; height: 14px; border-radius: 3px;
  background: var(--accent); opacity: .8; min-width: 2px; }
.bars .track span { color: var(--quiet); white-space: nowrap;
  font-variant-numeric: tabular-nums; }
)css";

static void writeBars(llvm::raw_ostream &os, const TimelinePage &page) {
  double longest = 0;
  for (const TimelineBar &bar : page.bars)
    longest = std::max(longest, bar.seconds);
  if (longest == 0)
    return;
  os << "<h2>" << escapeHtml(page.barsTitle) << "</h2>\n<p class=\"lead\">"
     << escapeHtml(page.barsLead) << "</p>\n<div class=\"bars\">\n";
  for (const TimelineBar &bar : page.bars)
    os << formatv("<div>{0}</div><div class=\"track\"><i style=\"width:{1:F1}%"
                  "\"></i><span>{2}</span></div>\n",
                  escapeHtml(bar.label), 80 * bar.seconds / longest,
                  formatSeconds(bar.seconds));
  os << "</div>\n";
}

static void writeTable(llvm::raw_ostream &os, const TimelineTable &table) {
  if (table.rows.empty())
    return;
  os << "<h2>" << escapeHtml(table.title) << "</h2>\n";
  if (!table.lead.empty())
    os << "<p class=\"lead\">" << escapeHtml(table.lead) << "</p>\n";
  os << "<table><thead><tr>";
  for (const std::string &column : table.columns)
    os << "<th>" << escapeHtml(column) << "</th>";
  os << "</tr></thead><tbody>\n";
  for (const std::vector<std::string> &row : table.rows) {
    os << "<tr>";
    for (const std::string &cell : row)
      os << "<td>" << escapeHtml(cell) << "</td>";
    os << "</tr>\n";
  }
  os << "</tbody></table>\n";
}

void regather::writeTimelinePage(llvm::raw_ostream &os,
                                 const TimelinePage &page,
                                 const Timeline &timeline,
                                 llvm::ArrayRef<TimelineOp> ops) {
  os << "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>"
     << escapeHtml(page.title) << "</title>\n<style>" << kPageStyle
     << getTimelineStyle() << "</style></head><body>\n<h1>"
     << escapeHtml(page.title) << "</h1>\n<p class=\"chips\">";
  for (const std::string &chip : page.chips)
    os << "<span>" << escapeHtml(chip) << "</span>";
  os << "</p>\n<div class=\"cards\">\n";
  for (const TimelineCard &card : page.cards)
    os << "<div class=\"card\"><span>" << escapeHtml(card.label) << "</span><b>"
       << escapeHtml(card.value) << "</b><span>" << escapeHtml(card.note)
       << "</span></div>\n";
  os << "</div>\n<h2>Timeline</h2>\n<p class=\"lead\">"
     << escapeHtml(timeline.name)
     << ". Scroll to zoom, drag to move, double-click for all of it.</p>\n";
  writeTimelineFigure(os, timeline, ops);
  writeBars(os, page);
  for (const TimelineTable &table : page.tables)
    writeTable(os, table);
  os << "<script>" << getTimelineScript() << "</script>\n</body></html>\n";
}
