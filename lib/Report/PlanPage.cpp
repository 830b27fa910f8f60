//===- PlanPage.cpp - A page of plans -------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Report/RenderPlans.h"

#include "Format.h"
#include "FrontierChart.h"
#include "Style.h"
#include "Table.h"

#include "regather/Timeline/WriteTimeline.h"

#include "llvm/Support/Path.h"

using namespace regather::report;

static void writeSection(llvm::raw_ostream &os, llvm::StringRef title,
                         llvm::ArrayRef<Column> columns,
                         const std::vector<PlanPage::Row> &rows) {
  if (rows.empty())
    return;
  Table table(columns);
  for (const PlanPage::Row &row : rows) {
    std::vector<std::string> cells;
    for (const std::string &text : row)
      cells.push_back(escape(text));
    table.addRow(std::move(cells));
  }
  os << "<section>\n<h2>" << title << "</h2>\n";
  table.write(os);
  os << "</section>\n";
}

std::string regather::report::renderPlans(const PlanPage &plans) {
  static constexpr Column kPlans[] = {{"mesh", ColumnKind::Code},
                                      {"step", ColumnKind::Number},
                                      {"for a row", ColumnKind::Number},
                                      {"MFU", ColumnKind::Number},
                                      {"memory", ColumnKind::Number},
                                      {"limited by"},
                                      {"exposed"},
                                      {"flags", ColumnKind::Code}};
  static constexpr Column kOthers[] = {{"meshes", ColumnKind::Number},
                                       {"why not"}};
  static constexpr Column kPlacements[] = {{"placement", ColumnKind::Code},
                                           {"step", ColumnKind::Number},
                                           {"memory", ColumnKind::Number}};
  std::string page;
  llvm::raw_string_ostream os(page);
  os << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">"
        "\n<meta name=\"viewport\" content=\"width=device-width, "
        "initial-scale=1\">\n<title>"
     << escape(llvm::sys::path::filename(plans.file))
     << ": plans</title>\n<style>" << kStyle << getTimelineStyle()
     << "</style>\n</head>\n<body>\n<header><h1>"
     << escape(llvm::sys::path::filename(plans.file))
     << "</h1>\n<div class=\"chips\">\n";
  for (const std::string &chip : plans.chips)
    os << "<span>" << escape(chip) << "</span>\n";
  os << "</div></header>\n<section>\n<h2>Time of a row against memory</h2>\n";
  writeFrontierChart(os, plans.choices);
  os << "</section>\n";
  writeSection(os, "Plans, the best first", kPlans, plans.plans);
  writeSection(os, "Placements, each in the whole step", kPlacements,
               plans.explanations);
  writeSection(os, "Other meshes", kOthers, plans.others);
  os << "<footer>Bytes are those of one rank; kB, MB and GB are powers of "
        "1,000. Written by <code>regather plan</code>.</footer>\n</body>\n"
        "</html>\n";
  return page;
}
