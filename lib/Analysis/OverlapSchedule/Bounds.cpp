//===- Bounds.cpp - What no order can beat --------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bounds.h"

#include "Distances.h"

#include "llvm/ADT/STLExtras.h"

#include <queue>

using namespace llvm;
using namespace regather;
using namespace regather::overlap;

double overlap::computeOneResourceBound(std::vector<Job> jobs) {
  llvm::sort(jobs, [](const Job &a, const Job &b) { return a.head < b.head; });
  auto hasShorterTail = [](const Job &a, const Job &b) {
    return a.tail < b.tail;
  };
  std::priority_queue<Job, std::vector<Job>, decltype(hasShorterTail)>
      available(hasShorterTail);
  double now = 0, bound = 0;
  for (size_t next = 0; next != jobs.size() || !available.empty();) {
    if (available.empty())
      now = std::max(now, jobs[next].head);
    for (; next != jobs.size() && jobs[next].head <= now; ++next)
      available.push(jobs[next]);
    Job job = available.top();
    available.pop();
    // However sums are rounded, each round completes a job or reaches the head
    // of one, so the loop ends.
    double end = now + job.seconds;
    if (next == jobs.size() || end <= jobs[next].head) {
      now = end;
      bound = std::max(bound, now + job.tail);
      continue;
    }
    job.seconds -= jobs[next].head - now;
    now = jobs[next].head;
    available.push(job);
  }
  return bound;
}

/// Computation beside a collective goes on more slowly: each second that a link
/// is busy costs a part of a second, hidden or not.
static double getSlowdownBound(const Graph &graph) {
  double compute = 0, lost = 0;
  std::vector<double> busy(graph.links.size(), 0.0);
  for (uint32_t op = 0; op != graph.size(); ++op) {
    compute += graph.getComputeSeconds(op);
    if (graph.isStart(op))
      busy[graph.linkOf[graph.streams[op]]] += graph.seconds[op];
  }
  for (auto [link, seconds] : zip_equal(graph.links, busy))
    lost = std::max(lost, seconds * (1 - 1 / link.computeSlowdown));
  return compute + lost;
}

double regather::computeLowerBound(const TimedGraph &timed) {
  Graph graph(timed, /*allowsConflicts=*/true);
  tightenDistances(graph);
  return computeLowerBound(graph);
}

double overlap::computeLowerBound(const Graph &graph) {
  // Rounding can make sums slightly larger than the true times.
  double bound = getSlowdownBound(graph) * (1 - 1e-12);
  std::vector<Job> compute;
  std::vector<std::vector<Job>> links(graph.links.size());
  for (uint32_t op = 0; op != graph.size(); ++op) {
    double seconds = graph.seconds[op];
    bound = std::max(bound, graph.heads[op] + graph.tails[op]);
    Job job = {graph.heads[op], seconds, graph.tails[op] - seconds};
    if (graph.isCompute(op))
      compute.push_back(job);
    else if (graph.isStart(op))
      links[graph.linkOf[graph.streams[op]]].push_back(job);
  }
  bound = std::max(bound, computeOneResourceBound(std::move(compute)));
  for (std::vector<Job> &link : links)
    bound = std::max(bound, computeOneResourceBound(std::move(link)));
  return bound;
}
