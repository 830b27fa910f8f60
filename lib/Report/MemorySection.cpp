//===- MemorySection.cpp - Memory over the program ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Format.h"
#include "FrontierChart.h"
#include "MemoryChart.h"
#include "Sections.h"
#include "Table.h"

#include "regather/Timeline/WriteTimeline.h"

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
  if (after.hostBytes > 0)
    os << llvm::formatv("<p class=\"quiet\">Between forward and backward, {0} "
                        "lie in memory of the host.</p>\n",
                        formatBytes(after.hostBytes));
  if (after.hostArgumentBytes > 0)
    os << llvm::formatv("<p class=\"quiet\">Between steps, {0} of the "
                        "optimizer's states lie in memory of the host.</p>\n",
                        formatBytes(after.hostArgumentBytes));
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

static constexpr Column kChoiceColumns[] = {
    {"decisions", ColumnKind::Code},
    {"on each rank", ColumnKind::Number},
    {"step", ColumnKind::Number},
    {""}};

/// What was tried to keep to the limit.
static void writeChoices(llvm::raw_ostream &os, const MemoryChoices &memory) {
  const MemoryChoice &chosen = memory.choices[memory.chosen];
  os << llvm::formatv(
      "<h3>Within {0}</h3>\n<p class=\"lead\">Of {1} choices, those were taken "
      "with which the step fits and takes the least time: {2}, {3} above what "
      "no order of the operations of any choice is quicker than. A point is a "
      "choice; the line joins those than which none is both smaller and "
      "quicker.</p>\n",
      formatBytes(memory.limitBytes), memory.choices.size(),
      regather::formatSeconds(chosen.seconds),
      regather::formatPercent(memory.boundSeconds > 0
                                  ? chosen.seconds / memory.boundSeconds - 1
                                  : 0));
  writeFrontierChart(os, memory);
  Table table(kChoiceColumns);
  int64_t largest = 0;
  for (const MemoryChoice &choice : memory.choices)
    largest = std::max(largest, choice.bytes);
  for (auto [number, choice] : llvm::enumerate(memory.choices))
    table.addRow({escape(choice.flags), getBytesCell(choice.bytes, largest),
                  regather::formatSeconds(choice.seconds),
                  number == memory.chosen            ? "<b>taken</b>"
                  : choice.bytes > memory.limitBytes ? "too large"
                                                     : ""});
  writeDetails(
      os, llvm::formatv("The {0} choices", memory.choices.size()).str(), table);
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
  if (!report.memoryChoices.choices.empty())
    writeChoices(os, report.memoryChoices);
  writeMemoryCharts(os, before, after);
  writePeaks(os, before, after);
  writeLargest(os, after);
}
