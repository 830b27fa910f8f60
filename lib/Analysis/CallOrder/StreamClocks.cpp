//===- StreamClocks.cpp - What is known to be complete --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamClocks.h"

#include <algorithm>

using namespace regather::callorder;

size_t StreamClocks::addLane() {
  clocks.emplace_back(clocks.size() + 1);
  return clocks.size() - 1;
}

void StreamClocks::join(size_t lane, const Clock &clock) {
  Clock &known = clocks[lane];
  if (known.size() < clock.size())
    known.resize(clock.size());
  for (size_t i = 0; i != clock.size(); ++i)
    known[i] = std::max(known[i], clock[i]);
}

Tick StreamClocks::advance(size_t lane) {
  join(lane, clocks[kHost]);
  return {lane, ++clocks[lane][lane]};
}

void StreamClocks::restart(size_t lane) {
  uint64_t time = clocks[lane][lane];
  clocks[lane].assign(lane + 1, 0);
  clocks[lane][lane] = time;
}

bool StreamClocks::isBefore(const Tick &earlier, size_t lane) const {
  const Clock &known = clocks[lane];
  if (earlier.lane == lane)
    return earlier.time < known[lane];
  return earlier.lane < known.size() && earlier.time <= known[earlier.lane];
}
