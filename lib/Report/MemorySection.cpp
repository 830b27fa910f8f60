//===- MemorySection.cpp - Memory over the program ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Format.h"
#include "MemoryChart.h"
#include "Sections.h"
#include "Table.h"

#include "llvm/Support/FormatVariadic.h"

using namespace regather::report;

static constexpr Column kMemoryColumns[] = {{"in use at the peak"},
                                            {"before", ColumnKind::Number},
                                            {"after", ColumnKind::Number}};

/// What is in use at the peak, by use.
static void writePeaks(llvm::raw_ostream &os, const MemoryCurve &before,
                       const MemoryCurve &after) {
  Table table(kMemoryColumns);
  int64_t largest = std::max(before.getPeakBytes(), after.getPeakBytes());
  for (unsigned use = 0; use < kNumMemoryUses; ++use)
    table.addRow({getUseName(static_cast<MemoryUse>(use)).str(),
                  getBytesCell(before.bytes[use][before.peak], largest),
                  getBytesCell(after.bytes[use][after.peak], largest)});
  table.setTotal({"total", getBytesCell(before.getPeakBytes(), largest),
                  getBytesCell(after.getPeakBytes(), largest)});
  table.write(os);
  os << llvm::formatv(
      "<p class=\"quiet\">Of these, arguments of the step take {0}; the rest "
      "lies in an arena of {1}, before the passes {2}.</p>\n",
      formatBytes(after.argumentBytes), formatBytes(after.arenaBytes),
      formatBytes(before.arenaBytes));
}

static constexpr Column kBufferColumns[] = {{"written by", ColumnKind::Code},
                                            {"module", ColumnKind::Code},
                                            {"phase"},
                                            {"use"},
                                            {"size", ColumnKind::Number}};

static void writeLargest(llvm::raw_ostream &os, const MemoryCurve &curve) {
  Table table(kBufferColumns);
  int64_t largest = curve.largest.empty() ? 0 : curve.largest.front().bytes;
  for (const LiveBuffer &buffer : curve.largest)
    table.addRow({escape(buffer.op), escape(buffer.module),
                  escape(buffer.phase), getUseName(buffer.use).str(),
                  getBytesCell(buffer.bytes, largest)});
  if (!table.isEmpty())
    writeDetails(os,
                 llvm::formatv("The {0} largest buffers at the peak",
                               curve.largest.size())
                     .str(),
                 table);
}

void regather::report::writeMemory(llvm::raw_ostream &os,
                                   const StepReport &report) {
  const MemoryCurve &before = report.before.memory;
  const MemoryCurve &after = report.after.memory;
  os << "<p class=\"lead\">Bytes in use on one rank, instruction by "
        "instruction "
        "of the program for the CPU. Both charts have one scale, and each "
        "phase "
        "has one place in both.</p>\n";
  if (before.getLength() == 0 || after.getLength() == 0) {
    os << "<p>The program is empty.</p>\n";
    return;
  }
  writeMemoryCharts(os, before, after);
  writePeaks(os, before, after);
  writeLargest(os, after);
}
