//===- GraphGrouping.cpp - Choose the operations of each graph ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphGrouping.h"

using namespace mlir;
using namespace regather;
using namespace regather::exec;

using Kind = ProgramItem::Kind;

struct GraphGrouping::Graph {
  unsigned name;
  SmallVector<size_t> computes, before, behind;
  llvm::SmallDenseSet<size_t> startsBehind;
  AccessSet accesses, accessesBehind;
};

std::optional<unsigned> GraphGrouping::getName(size_t item) const {
  return items[item].kind == Kind::Compute ? names.getNumber(items[item].op)
                                           : std::nullopt;
}

bool GraphGrouping::isNeutral(size_t item) const {
  Operation *op = items[item].op;
  return !isa<LaunchOp, CollectiveOp>(op) && !op->hasAttr(tg::kModuleAttrName);
}

std::vector<ItemGroup> GraphGrouping::run() {
  for (size_t i = 0; i != items.size();) {
    if (getName(i)) {
      i = group(i);
      continue;
    }
    groups.push_back({"", {i}});
    ++i;
  }
  return std::move(groups);
}

/// Makes a graph that begins with item `first`; returns the number of the item
/// behind it.
size_t GraphGrouping::group(size_t first) {
  Graph graph;
  graph.name = *getName(first);
  graph.computes.push_back(first);
  graph.accesses.add(cast<StreamOpInterface>(items[first].op));
  size_t end = first + 1;
  while (extend(graph, end))
    ;
  close(graph, first, end);
  return end;
}

/// Adds everything up to the next computation for the graph. Changes nothing
/// and returns false if there is none or if something is in its way.
bool GraphGrouping::extend(Graph &graph, size_t &next) {
  size_t numComputes = graph.computes.size(), numBefore = graph.before.size(),
         numBehind = graph.behind.size();
  for (size_t i = next; i != items.size() && add(graph, i); ++i) {
    if (getName(i) != graph.name)
      continue;
    next = i + 1;
    return true;
  }
  // The sets of bytes are not needed any more.
  graph.computes.truncate(numComputes);
  graph.before.truncate(numBefore);
  graph.behind.truncate(numBehind);
  return false;
}

bool GraphGrouping::add(Graph &graph, size_t number) {
  const ProgramItem &item = items[number];
  switch (item.kind) {
  case Kind::Barrier:
    return false;
  case Kind::Wait:
    return addWait(graph, number);
  case Kind::Start:
    addStart(graph, number);
    return true;
  case Kind::Compute:
    break;
  }
  auto access = cast<StreamOpInterface>(item.op);
  if ((getName(number) != graph.name && !isNeutral(number)) ||
      graph.accessesBehind.conflicts(access))
    return false;
  graph.accesses.add(access);
  graph.computes.push_back(number);
  return true;
}

bool GraphGrouping::addWait(Graph &graph, size_t number) {
  const ProgramItem &item = items[number];
  bool isBehind = graph.startsBehind.contains(item.start);
  // Waits of another stream keep their place among what is started.
  if (item.stream != 0 && (isBehind || !graph.behind.empty()))
    graph.behind.push_back(number);
  else if (isBehind)
    return false;
  else
    graph.before.push_back(number);
  return true;
}

void GraphGrouping::addStart(Graph &graph, size_t number) {
  auto access = cast<StreamOpInterface>(items[number].op);
  if (graph.behind.empty() && !graph.accesses.conflicts(access)) {
    graph.before.push_back(number);
    return;
  }
  graph.behind.push_back(number);
  graph.startsBehind.insert(number);
  graph.accessesBehind.add(access);
}

std::string GraphGrouping::getUniqueName(unsigned number) {
  unsigned count = ++numByName[number];
  const std::string &name = names.names[number];
  return count == 1 ? name : name + "." + std::to_string(count);
}

/// Emits the graph that was made of the items [first, end).
void GraphGrouping::close(const Graph &graph, size_t first, size_t end) {
  auto emit = [&](ArrayRef<size_t> numbers) {
    for (size_t number : numbers)
      groups.push_back({"", {number}});
  };
  if (graph.computes.size() < minOps)
    return emit(llvm::to_vector(llvm::seq(first, end)));
  emit(graph.before);
  groups.push_back({getUniqueName(graph.name), {}});
  llvm::append_range(groups.back().items, graph.computes);
  emit(graph.behind);
  ++numGraphs;
  numOps += static_cast<int64_t>(graph.computes.size());
  numMovedBefore += static_cast<int64_t>(graph.before.size());
  numMovedBehind += static_cast<int64_t>(graph.behind.size());
}
