//===- BoundarySection.cpp - What lives on from forward to backward -------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Format.h"
#include "Sections.h"
#include "Table.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>
#include <tuple>

using namespace regather::report;

namespace {
/// Things of one kind in equal layers.
struct Group {
  std::vector<std::string> cells;
  int64_t count = 0, bytes = 0;
  double flops = 0;
};

/// Collects things that have equal texts.
class Groups {
public:
  Group &get(std::vector<std::string> cells) {
    auto [it, inserted] = numbers.insert({cells, groups.size()});
    if (inserted)
      groups.push_back({std::move(cells), 0, 0, 0});
    return groups[it->second];
  }
  /// The largest first.
  std::vector<Group> take() {
    llvm::sort(groups, [](const Group &lhs, const Group &rhs) {
      return std::tie(rhs.bytes, lhs.cells) < std::tie(lhs.bytes, rhs.cells);
    });
    return std::move(groups);
  }

private:
  std::map<std::vector<std::string>, size_t> numbers;
  std::vector<Group> groups;
};
} // namespace

static int64_t getLargest(llvm::ArrayRef<Group> groups) {
  return groups.empty() ? 0 : groups.front().bytes;
}

//===----------------------------------------------------------------------===//
// Gathered parameters
//===----------------------------------------------------------------------===//

static std::string getTag(const std::string &decision) {
  llvm::StringRef name = decision == "kept"             ? "kept"
                         : decision == "gathered again" ? "again"
                                                        : "none";
  return llvm::formatv("<span class=\"tag {0}\">{1}</span>", name,
                       escape(decision));
}

static constexpr Column kParameterGroups[] = {{"module", ColumnKind::Code},
                                              {"after forward"},
                                              {"why"},
                                              {"count", ColumnKind::Number},
                                              {"gathered", ColumnKind::Number},
                                              {"kept", ColumnKind::Number}};
static constexpr Column kParameterColumns[] = {
    {"parameter", ColumnKind::Code},
    {"after forward"},
    {"why"},
    {"shard", ColumnKind::Number},
    {"gathered", ColumnKind::Number},
    {"kept", ColumnKind::Number},
    {"received again", ColumnKind::Number}};

static std::string getName(const GatheredParameter &parameter) {
  std::string name = escape(parameter.name);
  if (parameter.members.empty())
    return name;
  std::string members;
  for (const std::string &member : parameter.members)
    members += (members.empty() ? "" : ", ") + escape(member);
  return llvm::formatv("{0}<br><span class=\"quiet\">{1}</span>", name,
                       members);
}

void regather::report::writeParameters(llvm::raw_ostream &os,
                                       const StepReport &report) {
  const Boundary &boundary = report.after.boundary;
  if (boundary.parameters.empty()) {
    os << "<p>The step gathers no parameter.</p>\n";
    return;
  }
  int64_t gathered = 0, shards = 0, again = 0;
  Groups groups;
  std::map<std::vector<std::string>, int64_t> kept;
  Table table(kParameterColumns);
  for (const GatheredParameter &parameter : boundary.parameters) {
    gathered += parameter.gatheredBytes;
    shards += parameter.shardBytes;
    again += parameter.regatheredBytes;
    std::vector<std::string> cells = {
        escape(getModulePattern(parameter.module)), getTag(parameter.decision),
        escape(parameter.reason)};
    kept[cells] += parameter.keptBytes;
    Group &group = groups.get(std::move(cells));
    ++group.count;
    group.bytes += parameter.gatheredBytes;
    table.addRow({getName(parameter), getTag(parameter.decision),
                  escape(parameter.reason), getBytesCell(parameter.shardBytes),
                  getBytesCell(parameter.gatheredBytes),
                  getBytesCell(parameter.keptBytes),
                  getBytesCell(parameter.regatheredBytes)});
  }
  table.setTotal({"total", "", "", getBytesCell(shards), getBytesCell(gathered),
                  getBytesCell(boundary.gatheredBytes), getBytesCell(again)});
  os << "<p class=\"lead\">A parameter is gathered for forward. Until backward "
        "needs it, it is kept, or released and gathered again.</p>\n";
  Table overview(kParameterGroups);
  std::vector<Group> sorted = groups.take();
  for (const Group &group : sorted)
    overview.addRow({group.cells[0], group.cells[1], group.cells[2],
                     formatCount(group.count),
                     getBytesCell(group.bytes, getLargest(sorted)),
                     getBytesCell(kept[group.cells])});
  overview.setTotal(
      {"total", "", "",
       formatCount(static_cast<int64_t>(boundary.parameters.size())),
       getBytesCell(gathered), getBytesCell(boundary.gatheredBytes)});
  overview.write(os);
  writeDetails(os,
               llvm::formatv("Each of the {0} gathered parameters",
                             boundary.parameters.size())
                   .str(),
               table);
}

//===----------------------------------------------------------------------===//
// Saved values
//===----------------------------------------------------------------------===//

static constexpr Column kSavedGroups[] = {
    {"operation", ColumnKind::Code}, {"module", ColumnKind::Code},
    {"type", ColumnKind::Code},      {"why"},
    {"count", ColumnKind::Number},   {"size", ColumnKind::Number},
    {"avoids", ColumnKind::Number}};
static constexpr Column kSavedColumns[] = {
    {"value", ColumnKind::Code},  {"operation", ColumnKind::Code},
    {"module", ColumnKind::Code}, {"type", ColumnKind::Code},
    {"size", ColumnKind::Number}, {"avoids", ColumnKind::Number}};

void regather::report::writeSaved(llvm::raw_ostream &os,
                                  const StepReport &report) {
  const Boundary &boundary = report.after.boundary;
  os << "<p class=\"lead\">What forward hands to backward besides gathered "
        "parameters, and the arithmetic of computing it once more.</p>\n";
  if (boundary.saved.empty()) {
    os << "<p>Nothing.</p>\n";
    return;
  }
  Groups groups;
  Table table(kSavedColumns);
  int64_t bytes = 0;
  double flops = 0;
  for (const SavedValue &value : boundary.saved) {
    Group &group =
        groups.get({escape(value.op), escape(getModulePattern(value.module)),
                    escape(value.type), escape(value.reason)});
    ++group.count;
    group.bytes += value.bytes;
    group.flops += value.flops;
    bytes += value.bytes;
    flops += value.flops;
    table.addRow({escape(value.id), escape(value.op), escape(value.module),
                  escape(value.type), getBytesCell(value.bytes),
                  formatFlops(value.flops)});
  }
  table.setTotal(
      {"total", "", "", "", getBytesCell(bytes), formatFlops(flops)});
  Table overview(kSavedGroups);
  std::vector<Group> sorted = groups.take();
  for (const Group &group : sorted)
    overview.addRow({group.cells[0], group.cells[1], group.cells[2],
                     group.cells[3], formatCount(group.count),
                     getBytesCell(group.bytes, getLargest(sorted)),
                     formatFlops(group.flops)});
  overview.setTotal({"total", "", "", "",
                     formatCount(static_cast<int64_t>(boundary.saved.size())),
                     getBytesCell(bytes), formatFlops(flops)});
  overview.write(os);
  writeDetails(
      os,
      llvm::formatv("Each of the {0} saved values", boundary.saved.size())
          .str(),
      table);
}

//===----------------------------------------------------------------------===//
// Recomputed operations
//===----------------------------------------------------------------------===//

static constexpr Column kRecomputedColumns[] = {
    {"operation", ColumnKind::Code},
    {"module", ColumnKind::Code},
    {"count", ColumnKind::Number},
    {"size of results", ColumnKind::Number},
    {"arithmetic", ColumnKind::Number}};

void regather::report::writeRecomputed(llvm::raw_ostream &os,
                                       const StepReport &report) {
  const Boundary &boundary = report.after.boundary;
  os << "<p class=\"lead\">Operations of forward that backward carries out "
        "once "
        "more, so that their results need not be saved.</p>\n";
  if (boundary.recomputed.empty()) {
    os << "<p>None.</p>\n";
    return;
  }
  Groups groups;
  int64_t bytes = 0;
  for (const RecomputedOp &op : boundary.recomputed) {
    Group &group =
        groups.get({escape(op.op), escape(getModulePattern(op.module))});
    ++group.count;
    group.bytes += op.bytes;
    group.flops += op.flops;
    bytes += op.bytes;
  }
  Table table(kRecomputedColumns);
  std::vector<Group> sorted = groups.take();
  for (const Group &group : sorted)
    table.addRow({group.cells[0], group.cells[1], formatCount(group.count),
                  getBytesCell(group.bytes, getLargest(sorted)),
                  formatFlops(group.flops)});
  table.setTotal({"total", "",
                  formatCount(static_cast<int64_t>(boundary.recomputed.size())),
                  getBytesCell(bytes), formatFlops(boundary.recomputedFlops)});
  table.write(os);
}
