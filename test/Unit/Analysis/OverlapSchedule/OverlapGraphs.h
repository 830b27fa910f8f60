//===- OverlapGraphs.h - Programs for tests of schedules --------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_UNIT_ANALYSIS_OVERLAPSCHEDULE_OVERLAPGRAPHS_H
#define REGATHER_TEST_UNIT_ANALYSIS_OVERLAPSCHEDULE_OVERLAPGRAPHS_H

#include "regather/Analysis/TimedGraph.h"

#include "llvm/ADT/STLExtras.h"

#include <random>

namespace regather {

/// Builds programs operation by operation.
class ScheduleProgramBuilder {
public:
  explicit ScheduleProgramBuilder(uint32_t numStreams = 1) {
    graph.streams.resize(numStreams);
    graph.links.resize(numStreams);
    for (uint32_t stream = 0; stream != numStreams; ++stream)
      graph.streams[stream].link = stream;
  }

  /// Computes for so many milliseconds what takes so many bytes.
  uint32_t compute(double milliseconds, llvm::ArrayRef<uint32_t> needs = {},
                   int64_t bytes = 0) {
    return add({TimedOpKind::Compute, 0, 0, milliseconds / 1024}, needs, bytes);
  }
  /// Starts a collective.
  uint32_t start(double milliseconds, llvm::ArrayRef<uint32_t> needs = {},
                 int64_t bytes = 0, uint32_t stream = 0) {
    return add({TimedOpKind::Collective, stream, 0, milliseconds / 1024}, needs,
               bytes);
  }
  /// What the wait hands on lies where the collective has put it.
  uint32_t wait(uint32_t collective) {
    TimedOp op{TimedOpKind::Wait, graph.ops[collective].stream, collective, 0};
    uint32_t number = add(op, collective, 0);
    // What it sends is in use until then.
    for (uint32_t need : needs[collective])
      users[need].push_back(number);
    places[number] = places[collective];
    return number;
  }
  void keep(uint32_t op) { graph.buffers[op].isLiveOut = true; }

  TimedGraph build() {
    TimedGraph result = graph;
    for (llvm::ArrayRef<uint32_t> list : needs)
      result.predecessors.push(list);
    for (llvm::ArrayRef<uint32_t> list : users)
      result.users.push(list);
    return result;
  }

private:
  uint32_t add(TimedOp op, llvm::ArrayRef<uint32_t> needed, int64_t bytes) {
    uint32_t number = graph.ops.size();
    graph.ops.push_back(op);
    graph.buffers.push_back({bytes, number, false});
    needs.emplace_back(needed);
    users.emplace_back();
    places.push_back(number);
    for (uint32_t need : needed)
      users[places[need]].push_back(number);
    return number;
  }

  TimedGraph graph;
  std::vector<std::vector<uint32_t>> needs, users;
  /// By operation, the buffer that holds what it gives.
  std::vector<uint32_t> places;
};

/// A random graph of at most `size` operations: chains of computation with
/// collectives of parameters and of what was computed.
inline TimedGraph makeRandomProgram(uint32_t size, std::mt19937 &random,
                                    uint32_t maxStreams = 2) {
  auto draw = [&](uint32_t limit) { return random() % limit; };
  uint32_t numStreams = 1 + draw(maxStreams);
  ScheduleProgramBuilder builder(numStreams);
  std::vector<uint32_t> values;
  auto pick = [&](uint32_t count) {
    std::vector<uint32_t> picked;
    for (uint32_t i = 0; i != count && !values.empty(); ++i) {
      uint32_t value =
          values[values.size() - 1 - draw(std::min<size_t>(values.size(), 5))];
      if (!llvm::is_contained(picked, value))
        picked.push_back(value);
    }
    return picked;
  };
  uint32_t number = 0;
  while (number < size) {
    if (number + 2 <= size && draw(3) == 0) {
      uint32_t start =
          builder.start(1 + draw(16), pick(draw(2)), draw(8), draw(numStreams));
      values.push_back(builder.wait(start));
      number += 2;
    } else {
      values.push_back(builder.compute(1 + draw(12), pick(draw(3)), draw(8)));
      ++number;
    }
  }
  return builder.build();
}

} // namespace regather

#endif // REGATHER_TEST_UNIT_ANALYSIS_OVERLAPSCHEDULE_OVERLAPGRAPHS_H
