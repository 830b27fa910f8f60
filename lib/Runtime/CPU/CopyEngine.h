//===- CopyEngine.h - Copies beside computation -----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_CPU_COPYENGINE_H
#define REGATHER_LIB_RUNTIME_CPU_COPYENGINE_H

#include "Communication/Threads/InjectedLink.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>

namespace regather::runtime {

/// Copies memory on a thread of its own, one copy after the other, as the copy
/// engine of a device does. What is copied stays unchanged, and its target
/// untouched, until the copy has been finished.
class CopyEngine {
public:
  using Clock = InjectedLink::Clock;

  explicit CopyEngine(InjectedLink link) : link(link) {}
  CopyEngine(const CopyEngine &) = delete;
  CopyEngine &operator=(const CopyEngine &) = delete;
  ~CopyEngine();

  /// Starts the thread; false if the system does not grant it.
  bool start();

  /// Starts a copy and returns at once.
  void begin(void *target, const void *source, int64_t bytes);

  /// When a copy was under way.
  struct Times {
    Clock::time_point begin, end;
  };
  /// Blocks until the oldest copy that was not finished yet is complete. There
  /// is one.
  Times finish();

private:
  struct Copy {
    void *target;
    const void *source;
    int64_t bytes;
    Clock::time_point issued;
    Times times;
  };

  void run();

  const InjectedLink link;
  std::thread thread;
  std::mutex mutex;
  std::condition_variable changed;
  /// Those that were not finished, of which so many are complete.
  std::deque<Copy> copies;
  size_t numComplete = 0;
  bool isStopping = false;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_CPU_COPYENGINE_H
