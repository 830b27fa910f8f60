//===- Effort.h - How long the planner may search ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_EFFORT_H
#define REGATHER_LIB_ANALYSIS_EFFORT_H

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace regather::planner {

/// A stock of work that searches draw on. Work is counted in inner loop steps,
/// which are the same on every machine; a deadline, if there is one, is not.
class Effort {
public:
  using Clock = std::chrono::steady_clock;

  explicit Effort(uint64_t work,
                  std::optional<Clock::time_point> deadline = std::nullopt)
      : left(work), deadline(deadline) {}

  /// Takes `work` from the stock; false if it is used up.
  bool spend(uint64_t work) {
    if (deadline && (sinceClock += work) >= kWorkPerClockRead) {
      sinceClock = 0;
      if (Clock::now() >= *deadline)
        left = 0;
    }
    if (work >= left) {
      left = 0;
      return false;
    }
    left -= work;
    return true;
  }

  bool isSpent() const { return left == 0; }
  uint64_t getLeft() const { return left; }

  /// A part of the stock, to be given back with `join`.
  Effort split(uint64_t work) {
    Effort part(std::min(work, left), deadline);
    left -= part.left;
    return part;
  }
  void join(const Effort &part) { left += part.left; }

private:
  /// About a tenth of a millisecond.
  static constexpr uint64_t kWorkPerClockRead = 100000;

  uint64_t left;
  uint64_t sinceClock = 0;
  std::optional<Clock::time_point> deadline;
};

} // namespace regather::planner

#endif // REGATHER_LIB_ANALYSIS_EFFORT_H
