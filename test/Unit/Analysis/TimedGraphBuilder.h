//===- TimedGraphBuilder.h - Timed programs for tests -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_UNIT_ANALYSIS_TIMEDGRAPHBUILDER_H
#define REGATHER_TEST_UNIT_ANALYSIS_TIMEDGRAPHBUILDER_H

#include "regather/Analysis/TimedGraph.h"

#include <vector>

namespace regather {

/// Puts a graph together operation by operation; each returns its number.
class ProgramBuilder {
public:
  explicit ProgramBuilder(uint32_t numStreams = 1, TimedLink link = {}) {
    graph.links.push_back(std::move(link));
    graph.streams.resize(numStreams);
  }

  uint32_t compute(double seconds, std::vector<uint32_t> needs = {}) {
    return add({TimedOpKind::Compute, 0, 0, seconds}, needs);
  }
  uint32_t collective(double seconds, std::vector<uint32_t> needs = {},
                      uint32_t stream = 0) {
    return add({TimedOpKind::Collective, stream, 0, seconds}, needs);
  }
  uint32_t wait(uint32_t collective) {
    uint32_t stream = graph.ops[collective].stream;
    return add({TimedOpKind::Wait, stream, collective, 0}, {collective});
  }
  void buffer(int64_t bytes, uint32_t writer, std::vector<uint32_t> users,
              bool isLiveOut = false) {
    graph.buffers.push_back({bytes, writer, isLiveOut});
    graph.users.push(users);
  }
  void conflict(uint32_t a, uint32_t b) {
    graph.streams[a].conflicts.push_back(b);
    graph.streams[b].conflicts.push_back(a);
  }

  TimedGraph graph;

private:
  uint32_t add(TimedOp op, const std::vector<uint32_t> &needs) {
    graph.ops.push_back(op);
    graph.predecessors.push(needs);
    return graph.ops.size() - 1;
  }
};

} // namespace regather

#endif // REGATHER_TEST_UNIT_ANALYSIS_TIMEDGRAPHBUILDER_H
