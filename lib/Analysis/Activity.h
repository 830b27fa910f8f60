//===- Activity.h - Something under way at a changing speed -----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_ACTIVITY_H
#define REGATHER_LIB_ANALYSIS_ACTIVITY_H

#include <algorithm>

namespace regather {

/// A computation or a collective that is under way. Its speed is 1 while
/// nothing else runs, and changes only at events. The simulator and the
/// scheduler's clock share this arithmetic, so that their times agree to the
/// bit.
class Activity {
public:
  bool isActive() const { return active; }
  /// The instant at which it is done if its speed stays as it is.
  double getEnd() const { return end; }

  void begin(double seconds, double now) {
    active = true;
    speed = 1;
    left = seconds;
    since = now;
    end = now + seconds;
  }
  void finish() { active = false; }
  void setSpeed(double next, double now) {
    if (next == speed)
      return;
    left = std::max(0.0, left - (now - since) * speed);
    since = now;
    speed = next;
    end = now + left / speed;
  }

private:
  bool active = false;
  double speed = 1;
  /// Seconds at full speed that were left at `since`.
  double left = 0;
  double since = 0;
  double end = 0;
};

} // namespace regather

#endif // REGATHER_LIB_ANALYSIS_ACTIVITY_H
