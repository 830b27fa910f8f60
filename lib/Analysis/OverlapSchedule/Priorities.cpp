//===- Priorities.cpp - How late operations may be ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a step backwards from its end. Each operation is put off as long as its
// successors, and other work of its resource, allow. Operations with a longer
// path from the begin go first, and may interrupt others; waits, memory and the
// time that issuing takes are ignored.
//
// So a reduction is due before the reductions that crowd the end of a step, and
// the GEMMs whose results it reduces before that, which the length of the path
// behind it does not tell.
//
//===----------------------------------------------------------------------===//

#include "Priorities.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>
#include <queue>

using namespace llvm;
using namespace regather;
using namespace regather::overlap;

namespace {
class PutOffSchedule {
public:
  PutOffSchedule(const Graph &graph, ArrayRef<double> begins);
  std::vector<double> run();

private:
  /// Collectives whose paths from the begin differ by less than this part of
  /// the step count as equal, so that the one which is needed last begins last.
  static constexpr double kEqualHeads = 0.001;

  /// An operation to run: the greatest goes first, and of equal ones the one
  /// that came first.
  struct Entry {
    double head = 0;
    uint32_t arrival = 0;
    uint32_t op = 0;

    bool operator<(const Entry &other) const {
      return std::tie(head, other.arrival) < std::tie(other.head, arrival);
    }
  };

  void finish(uint32_t op);
  void advance();

  const Graph &graph;
  /// By operation, how long after the begin of the step it begins.
  ArrayRef<double> heads;
  /// Of the device, and of each link.
  std::vector<std::priority_queue<Entry>> resources;
  std::vector<double> left;
  std::vector<uint32_t> missing;
  /// By operation, how long before the end of the step it begins.
  std::vector<double> begins;
  std::vector<uint32_t> finished;
  double equalHeads = 0;
  double now = 0;
  uint32_t numArrived = 0;
};
} // namespace

PutOffSchedule::PutOffSchedule(const Graph &graph, ArrayRef<double> begins)
    : graph(graph), heads(begins), resources(1 + graph.links.size()),
      left(graph.seconds), missing(graph.size()), begins(graph.size()) {
  for (uint32_t op = 0; op != graph.size(); ++op) {
    missing[op] = graph.successors[op].size();
    equalHeads = std::max(equalHeads, kEqualHeads * heads[op]);
  }
  for (uint32_t op = graph.size(); op-- != 0;)
    if (graph.successors[op].empty())
      finished.push_back(op);
}

/// Everything that follows `op` has run.
void PutOffSchedule::finish(uint32_t op) {
  if (left[op] > 0) {
    uint32_t resource = 0;
    double head = heads[op];
    if (graph.isStart(op)) {
      resource = 1 + graph.linkOf[graph.streams[op]];
      head = equalHeads > 0 ? std::floor(head / equalHeads) : 0;
    }
    resources[resource].push({head, numArrived++, op});
    return;
  }
  begins[op] = now;
  for (uint32_t predecessor : graph.predecessors[op])
    if (--missing[predecessor] == 0)
      finished.push_back(predecessor);
}

/// Advances to the instant at which the first operation under way is done.
void PutOffSchedule::advance() {
  double seconds = std::numeric_limits<double>::infinity();
  for (auto &resource : resources)
    if (!resource.empty())
      seconds = std::min(seconds, left[resource.top().op]);
  now += seconds;
  for (auto &resource : resources) {
    if (resource.empty())
      continue;
    uint32_t op = resource.top().op;
    left[op] -= seconds;
    if (left[op] > 0)
      continue;
    resource.pop();
    finished.push_back(op);
  }
}

std::vector<double> PutOffSchedule::run() {
  while (true) {
    while (!finished.empty()) {
      uint32_t op = finished.back();
      finished.pop_back();
      finish(op);
    }
    if (llvm::all_of(resources,
                     [](auto &resource) { return resource.empty(); }))
      return std::move(begins);
    advance();
  }
}

std::vector<double> overlap::computePriorities(const Graph &graph,
                                               ArrayRef<double> begins) {
  return PutOffSchedule(graph, begins).run();
}

std::vector<double> overlap::computeBegins(const Graph &graph,
                                           ArrayRef<uint32_t> order) {
  std::vector<double> times, begins = graph.heads;
  computeScore(graph, order, &times);
  for (auto [place, op] : enumerate(order))
    begins[op] = std::max(begins[op], times[place]);
  return begins;
}
