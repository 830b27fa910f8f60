//===- StreamClocks.h - What is known to be complete ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_CALLORDER_STREAMCLOCKS_H
#define REGATHER_LIB_ANALYSIS_CALLORDER_STREAMCLOCKS_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace regather::callorder {

/// For each lane, how many of its ticks are complete. Lanes behind the end of
/// the vector have 0.
using Clock = std::vector<uint64_t>;

/// A tick of a lane.
struct Tick {
  size_t lane = 0;
  uint64_t time = 0;
};

/// The lanes of a run: the host, each stream, and each further stream that
/// takes part in a graph. A lane runs what it is given in order.
class StreamClocks {
public:
  /// The host, which tells the others what to do.
  static constexpr size_t kHost = 0;

  StreamClocks() { addLane(); }

  size_t addLane();
  size_t getNumLanes() const { return clocks.size(); }

  /// Begins the next tick of a lane, which comes after everything that the host
  /// knows to be complete.
  Tick advance(size_t lane);
  /// What is complete once everything that the lane was given is complete.
  const Clock &get(size_t lane) const { return clocks[lane]; }
  /// The lane waits for `clock`.
  void join(size_t lane, const Clock &clock);
  /// The lane forgets what it knows of others.
  void restart(size_t lane);
  /// True if `earlier` is complete before what the lane does in its current
  /// tick.
  bool isBefore(const Tick &earlier, size_t lane) const;

private:
  std::vector<Clock> clocks;
};

} // namespace regather::callorder

#endif // REGATHER_LIB_ANALYSIS_CALLORDER_STREAMCLOCKS_H
