//===- InjectedLink.h - A link slower than memory ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes collectives between threads take as long as over a network, so that a
// program that hides communication can be told from one that does not. Data is
// moved at once; it only counts as arrived later. The collectives of a group
// share a link and take it one after the other.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_COMMUNICATION_THREADS_INJECTEDLINK_H
#define REGATHER_LIB_RUNTIME_COMMUNICATION_THREADS_INJECTEDLINK_H

#include <algorithm>
#include <chrono>

namespace regather::runtime {

class InjectedLink {
public:
  using Clock = std::chrono::steady_clock;

  /// Without delay.
  InjectedLink() = default;
  /// A bandwidth of 0 bytes per second is unlimited.
  InjectedLink(double latencySeconds, double bandwidth)
      : latency(latencySeconds), secondsPerByte(bandwidth ? 1 / bandwidth : 0) {
  }

  /// Arrival of a collective that all ranks have started by `start`, while the
  /// link carries another one until `free`.
  Clock::time_point getArrival(Clock::time_point start, Clock::time_point free,
                               double receivedBytes) const {
    // Thirty years do not overflow the clock.
    double seconds = std::min(latency + receivedBytes * secondsPerByte, 1e9);
    // Rounded up: nothing arrives early.
    return std::max(start, free) + std::chrono::ceil<Clock::duration>(
                                       std::chrono::duration<double>(seconds));
  }

private:
  double latency = 0;
  double secondsPerByte = 0;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_COMMUNICATION_THREADS_INJECTEDLINK_H
