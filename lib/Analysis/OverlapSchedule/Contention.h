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

/// The counterpart of `Clock` for programs with contention: the device and the
/// streams of one rank, where activities that run at the same time slow each
/// other down. Its times are those of the simulator, bit for bit.
class ContentionClock {
public:
  explicit ContentionClock(const Graph &graph);

  /// Runs until the device has passed `op`. Returns how long it waited there.
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
  /// Advances to the instant at which the first activity is done; false if
  /// there is none.
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
