//===- Table.h - Tables of a page -------------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_REPORT_TABLE_H
#define REGATHER_LIB_REPORT_TABLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace regather::report {

/// What a column holds: words, code, or numbers, which stand right.
enum class ColumnKind { Text, Code, Number };

struct Column {
  llvm::StringLiteral title;
  ColumnKind kind = ColumnKind::Text;
};

/// A table; cells are HTML.
class Table {
public:
  explicit Table(llvm::ArrayRef<Column> columns) : columns(columns) {}

  void addRow(std::vector<std::string> cells) {
    rows.push_back(std::move(cells));
  }
  /// The last row, set apart.
  void setTotal(std::vector<std::string> cells) { total = std::move(cells); }
  bool isEmpty() const { return rows.empty(); }
  void write(llvm::raw_ostream &os) const;

private:
  void writeRow(llvm::raw_ostream &os, llvm::ArrayRef<std::string> cells) const;

  llvm::ArrayRef<Column> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> total;
};

/// A number of bytes, exact where the mouse rests, with a bar that shows its
/// share of `largest`.
std::string getBytesCell(int64_t bytes, int64_t largest = 0);

/// Writes what a click on `summary` shows.
void writeDetails(llvm::raw_ostream &os, llvm::StringRef summary,
                  const Table &table);

} // namespace regather::report

#endif // REGATHER_LIB_REPORT_TABLE_H
