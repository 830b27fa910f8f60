//===- Table.cpp - Tables of a page ---------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Table.h"

#include "Format.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace regather::report;

static llvm::StringRef getClass(ColumnKind kind) {
  switch (kind) {
  case ColumnKind::Text:
    return "";
  case ColumnKind::Code:
    return " class=\"code\"";
  case ColumnKind::Number:
    return " class=\"number\"";
  }
  llvm_unreachable("unknown kind");
}

void Table::writeRow(llvm::raw_ostream &os,
                     llvm::ArrayRef<std::string> cells) const {
  os << "<tr>";
  for (auto [column, cell] : llvm::zip_equal(columns, cells))
    os << "<td" << getClass(column.kind) << '>' << cell << "</td>";
  os << "</tr>\n";
}

void Table::write(llvm::raw_ostream &os) const {
  os << "<div class=\"scroll\"><table>\n<thead><tr>";
  for (const Column &column : columns)
    os << "<th"
       << (column.kind == ColumnKind::Number ? " class=\"number\"" : "") << '>'
       << escape(column.title) << "</th>";
  os << "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string> &row : rows)
    writeRow(os, row);
  os << "</tbody>\n";
  if (!total.empty()) {
    os << "<tfoot>";
    writeRow(os, total);
    os << "</tfoot>\n";
  }
  os << "</table></div>\n";
}

std::string regather::report::getBytesCell(int64_t bytes, int64_t largest) {
  std::string cell = llvm::formatv("<span title=\"{0} bytes\">{1}</span>",
                                   formatCount(bytes), formatBytes(bytes));
  if (largest > 0)
    cell += llvm::formatv("<i class=\"bar\" style=\"width:{0:F1}px\"></i>",
                          80.0 * double(bytes) / double(largest));
  return cell;
}

void regather::report::writeDetails(llvm::raw_ostream &os,
                                    llvm::StringRef summary,
                                    const Table &table) {
  os << "<details><summary>" << escape(summary) << "</summary>\n";
  table.write(os);
  os << "</details>\n";
}
