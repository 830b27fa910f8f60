//===- Watchdog.h - Ends steps that do not end ------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_NCCL_WATCHDOG_H
#define REGATHER_LIB_RUNTIME_GPU_NCCL_WATCHDOG_H

#include "regather/Support/Result.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace regather::runtime {

/// A thread that looks for failures and for the end of time. The thread that
/// runs the step may meanwhile be blocked in a call that never returns, so it
/// is this one that ends communication, and if that does not help, the process.
class Watchdog {
public:
  struct Options {
    double firstStepSeconds = 300;
    double stepSeconds = 100;
    /// How often it looks.
    double pollSeconds = 0.5;
    /// After a failure, how long the step may take to end before the process is
    /// ended with `exitCode`; negative: as long as it likes.
    double graceSeconds = 30;
    int exitCode = 70;
  };

  /// `poll` says what has failed, if something has, and must not block. `fail`
  /// is called once with it, by a thread of its own: if it blocks, the process
  /// is ended all the same.
  Watchdog(const Options &options, std::function<Failure()> poll,
           std::function<void(const std::string &)> fail);
  ~Watchdog();
  Watchdog(const Watchdog &) = delete;

  void beginStep();
  void endStep();

private:
  using Clock = std::chrono::steady_clock;

  void run();
  void endProcess(std::unique_lock<std::mutex> &lock,
                  const std::string &message);

  const Options options;
  const std::function<Failure()> poll;
  const std::function<void(const std::string &)> fail;
  std::mutex mutex;
  std::condition_variable wake;
  bool isOver = false;
  bool isInStep = false;
  bool isFirst = true;
  Clock::time_point begin;
  double seconds = 0;
  std::thread thread;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_NCCL_WATCHDOG_H
