//===- Contention.h - Time with contention ----------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_CONTENTION_H
#define REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_CONTENTION_H

#include "../Activity.h"
#include "ScheduleGraph.h"

namespace regather::overlap {

/// What `Clock` is to programs without contention: device and streams of one
/// rank, where what is under way at one time slows each other down. Gives what
/// the simulator gives, bit for bit.
class ContentionClock {
public:
  explicit ContentionClock(const Graph &graph);

  /// Goes on until the device has come past `op`. Returns how long it waited.
  double run(uint32_t op);
  /// Goes on until all is done, and returns when that is.
  double finish();
  double getNow() const { return now; }

private:
  struct Stream {
    /// Collectives as they were issued; the first `numDone` are complete.
    std::vector<uint32_t> issued;
    uint32_t numDone = 0;
    Activity activity;
  };

  bool canBegin(uint32_t stream) const;
  void beginAll();
  void setSpeeds();
  /// Goes to the instant at which the first thing under way is done; false if
  /// nothing is.
  bool goToNextEvent();

  const Graph &graph;
  double now = 0;
  Activity compute;
  std::vector<Stream> streams;
  std::vector<uint32_t> numInFlight;
  /// By collective: how many others of each conflicting stream were issued
  /// before it, and its place in its own stream.
  std::vector<uint32_t> earlierBegin, earlier, placeInStream;
};

} // namespace regather::overlap

#endif // REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_CONTENTION_H
