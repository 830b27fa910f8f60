//===- CollectivesSection.cpp - What ranks send to each other -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Format.h"
#include "Sections.h"
#include "Table.h"

using namespace regather::report;

static constexpr Column kCollectivesColumns[] = {
    {"collective", ColumnKind::Code}, {"phase"},
    {"axes", ColumnKind::Code},       {"ranks", ColumnKind::Number},
    {"count", ColumnKind::Number},    {"tensors", ColumnKind::Number},
    {"received", ColumnKind::Number}};

void regather::report::writeCollectives(llvm::raw_ostream &os,
                                        const StepReport &report) {
  Table table(kCollectivesColumns);
  CollectiveGroup total;
  int64_t largest = 0;
  for (const CollectiveGroup &group : report.after.collectives)
    largest = std::max(largest, group.bytes);
  for (const CollectiveGroup &group : report.after.collectives) {
    total.ops += group.ops;
    total.tensors += group.tensors;
    total.bytes += group.bytes;
    table.addRow({escape(group.kind), escape(group.phase), escape(group.axes),
                  formatCount(group.ranks), formatCount(group.ops),
                  formatCount(group.tensors),
                  getBytesCell(group.bytes, largest)});
  }
  if (table.isEmpty()) {
    os << "<p>The step does not communicate.</p>\n";
    return;
  }
  os << "<p class=\"lead\">Bytes that one rank receives.</p>\n";
  table.setTotal({"total", "", "", "", formatCount(total.ops),
                  formatCount(total.tensors), getBytesCell(total.bytes)});
  table.write(os);
}
