//===- TimedGraph.h - A step as operations that take time -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the scheduler and the simulator know of a step. All ranks run the same
// step. Computation runs on one stream, in the order in which it is issued.
// A collective is issued there as well, but runs on the stream of its
// communicator; a wait holds the compute stream up until it is done.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_TIMEDGRAPH_H
#define REGATHER_ANALYSIS_TIMEDGRAPH_H

#include "regather/Analysis/IndexLists.h"

#include <optional>
#include <string>

namespace regather {

enum class TimedOpKind : uint8_t { Compute, Collective, Wait };

struct TimedOp {
  TimedOpKind kind = TimedOpKind::Compute;
  /// Of a collective and of its wait: what it runs on.
  uint32_t stream = 0;
  /// Of a wait: the collective.
  uint32_t collective = 0;
  /// What it takes if nothing else runs; a wait takes nothing.
  double seconds = 0;
};

/// A communicator: collectives over one group of ranks, one at a time.
struct TimedStream {
  /// Number of the class of links that the group uses.
  uint32_t link = 0;
  /// Other streams whose collectives must not be in flight beside those of
  /// this one. Symmetric.
  std::vector<uint32_t> conflicts;
};

/// What computation and communication over one class of links do to each other,
/// as factors on the seconds, from 1 up.
struct TimedLink {
  std::string name;
  /// On computation while a collective is in flight.
  double computeSlowdown = 1;
  /// On a collective while its ranks compute.
  double collectiveSlowdown = 1;
};

/// Memory that an operation writes first.
struct TimedBuffer {
  int64_t bytes = 0;
  uint32_t writer = 0;
  /// It holds a result of the step.
  bool isLiveOut = false;
};

struct TimedGraph {
  /// By number. Their numbers are one order that is allowed: that of the step.
  std::vector<TimedOp> ops;
  /// By operation, those that come before it in every order; smaller numbers.
  IndexLists predecessors;
  std::vector<TimedStream> streams;
  std::vector<TimedLink> links;
  std::vector<TimedBuffer> buffers;
  /// By buffer, the operations after the last of which its memory is free. What
  /// a collective reads and writes is in use until its wait.
  IndexLists users;
  /// Memory that is taken all the time, such as the arguments of the step.
  int64_t residentBytes = 0;

  /// 0, 1, 2, ...: the order of the step.
  std::vector<uint32_t> getStepOrder() const;
};

/// Why an order is none of a graph's.
struct OrderViolation {
  enum class Kind {
    /// `op` does not occur.
    Missing,
    /// `op` occurs at `other`, a place, and again at `place`.
    Repeated,
    /// There is no operation `op`, at `place`.
    Unknown,
    /// `op`, at `place`, comes before operation `other`, which it needs.
    TooEarly
  };
  Kind kind;
  uint32_t op;
  uint32_t other = 0;
  size_t place = 0;
};

/// The first violation; nothing if `order` is one in which the graph can run.
std::optional<OrderViolation>
findOrderViolation(const TimedGraph &graph, llvm::ArrayRef<uint32_t> order);

/// Memory over the places of an order. It does not depend on how long anything
/// takes: what the operation at a place writes is taken when it is issued.
struct MemoryCurve {
  /// By place, while its operation runs; resident bytes included.
  std::vector<int64_t> bytes;
  int64_t peakBytes = 0;
  /// The first place with the peak.
  size_t peakPlace = 0;
};

MemoryCurve computeMemoryCurve(const TimedGraph &graph,
                               llvm::ArrayRef<uint32_t> order);

/// Times that no order of a graph can undercut.
struct StepBounds {
  /// All computation, one after the other.
  double computeSeconds = 0;
  /// By class of links, all its collectives.
  std::vector<double> linkSeconds;
  /// The longest chain of operations that need each other.
  double pathSeconds = 0;

  /// The largest of all.
  double getSeconds() const;
};

StepBounds computeStepBounds(const TimedGraph &graph);

} // namespace regather

#endif // REGATHER_ANALYSIS_TIMEDGRAPH_H
