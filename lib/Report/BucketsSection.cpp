//===- BucketsSection.cpp - What is communicated together -----------------===//
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

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace regather::report;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

/// The modules whose parameters forward gathers, equal layers as one: "layers.*
/// (32)".
static std::string listUnits(const Boundary &boundary) {
  // In the order of the program, which is not that of the names.
  std::vector<std::string> patterns;
  std::map<std::string, std::vector<std::string>> modules;
  for (const GatheredParameter &parameter : boundary.parameters) {
    std::string pattern = getModulePattern(parameter.module);
    std::vector<std::string> &found = modules[pattern];
    if (found.empty())
      patterns.push_back(pattern);
    if (!llvm::is_contained(found, parameter.module))
      found.push_back(parameter.module);
  }
  std::string text;
  for (const std::string &pattern : patterns) {
    size_t count = modules[pattern].size();
    text +=
        (text.empty() ? "" : ", ") +
        ("<code>" + escape(pattern.empty() ? "model" : pattern) + "</code>") +
        (count > 1 ? formatv(" ({0})", count).str() : "");
  }
  return text;
}

static void writeUnits(llvm::raw_ostream &os, const StepReport &report) {
  const Boundary &boundary = report.after.boundary;
  if (boundary.parameters.empty())
    return;
  os << "<p>Parameters of one unit are gathered, and their gradients reduced, "
        "together. Units: "
     << listUnits(boundary) << ".";
  bool isFlat = llvm::any_of(boundary.parameters, [](const auto &parameter) {
    return !parameter.members.empty();
  });
  if (isFlat)
    os << " <span class=\"quiet\">By default, a unit is a repeated block, or a "
          "module beside the blocks; those that are first used behind all "
          "blocks are one.</span>";
  os << "</p>\n";
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

static constexpr Column kBucketsColumns[] = {
    {"collective", ColumnKind::Code},
    {"phase"},
    {"modules", ColumnKind::Code},
    {"count", ColumnKind::Number},
    {"tensors", ColumnKind::Number},
    {"received each", ColumnKind::Number},
    {"in flight each", ColumnKind::Number},
    {"issued ahead", ColumnKind::Number},
    {"exposed", ColumnKind::Number}};

namespace {
/// Collectives of equal layers.
struct CollectiveRow {
  int64_t count = 0, tensors = 0, bytes = 0;
  double seconds = 0, aheadSeconds = 0, exposedSeconds = 0;
};
} // namespace

static void writeCollectiveRows(llvm::raw_ostream &os,
                                const StepTiming &timing) {
  llvm::MapVector<std::vector<std::string>, CollectiveRow,
                  std::map<std::vector<std::string>, unsigned>>
      rows;
  int64_t largest = 0;
  for (const TimedCollective &collective : timing.collectives) {
    CollectiveRow &row =
        rows[{escape(collective.kind), escape(collective.phase),
              escape(getModulePattern(collective.module))}];
    ++row.count;
    row.tensors += collective.tensors;
    row.bytes += collective.bytes;
    row.seconds += collective.seconds;
    row.aheadSeconds += collective.aheadSeconds;
    row.exposedSeconds += collective.exposedSeconds;
  }
  for (const auto &[cells, row] : rows)
    largest = std::max(largest, row.bytes / row.count);
  Table table(kBucketsColumns);
  for (const auto &[cells, row] : rows) {
    double count = static_cast<double>(row.count);
    table.addRow({cells[0], cells[1], cells[2], formatCount(row.count),
                  formatCount(row.tensors),
                  getBytesCell(row.bytes / row.count, largest),
                  regather::formatSeconds(row.seconds / count),
                  regather::formatSeconds(row.aheadSeconds / count),
                  regather::formatSeconds(row.exposedSeconds)});
  }
  table.write(os);
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

static constexpr Column kDecisionColumns[] = {{"pass", ColumnKind::Code},
                                              {"decision"}};

static void writeDecisionTable(llvm::raw_ostream &os,
                               const StepReport &report) {
  Table table(kDecisionColumns);
  for (const Decision &decision : report.decisions)
    table.addRow({escape(decision.pass), escape(decision.text)});
  if (!table.isEmpty())
    writeDetails(os,
                 formatv("What the passes say of their decisions ({0})",
                         report.decisions.size())
                     .str(),
                 table);
}

/// What was asked for, and what came of it.
static void writeDecisions(llvm::raw_ostream &os, const StepReport &report) {
  const Request &request = report.request;
  if (request.bucket.empty() || request.bucket == "none")
    os << "<p class=\"quiet\">No buckets were asked for: each unit "
          "communicates by itself.</p>\n";
  if (request.schedule.empty())
    os << "<p class=\"quiet\">No schedule was asked for: a collective starts "
          "where the program has it, right before its wait.</p>\n";
  writeDecisionTable(os, report);
}

void regather::report::writeBuckets(llvm::raw_ostream &os,
                                    const StepReport &report) {
  if (report.timing.collectives.empty() &&
      report.after.boundary.parameters.empty()) {
    os << "<p>There are none: nothing is communicated.</p>\n";
    writeDecisionTable(os, report);
    return;
  }
  writeUnits(os, report);
  if (!report.timing.collectives.empty())
    writeCollectiveRows(os, report.timing);
  writeDecisions(os, report);
}
