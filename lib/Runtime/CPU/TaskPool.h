//===- TaskPool.h - Threads that help with one job --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_CPU_TASKPOOL_H
#define REGATHER_LIB_RUNTIME_CPU_TASKPOOL_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace regather::runtime {

/// Runs the tasks of one job at a time on the calling thread and on helpers.
/// Idle helpers look for work for some microseconds, because kernels follow
/// each other closely, and then sleep. Allocates nothing after it was made.
class TaskPool {
public:
  TaskPool() = default;
  TaskPool(const TaskPool &) = delete;
  TaskPool &operator=(const TaskPool &) = delete;
  ~TaskPool();

  /// Starts helpers; false if the system does not grant all of them. Those that
  /// share their processors with others, `canSpin` false, sleep at once.
  bool start(int64_t helpers, bool canSpin);

  int64_t getNumThreads() const {
    return static_cast<int64_t>(helpers.size()) + 1;
  }

  /// Calls `body(task, thread)` for each task below `count`, and returns when
  /// all have ended. The calling thread has the number 0. Tasks that wait for
  /// each other all run if there is a thread for each.
  template <typename Body> void run(int64_t count, Body &&body) {
    runJob(
        count,
        [](void *context, int64_t task, int64_t thread) {
          (*static_cast<std::remove_reference_t<Body> *>(context))(task,
                                                                   thread);
        },
        &body);
  }

private:
  using Function = void (*)(void *context, int64_t task, int64_t thread);

  void runJob(int64_t count, Function function, void *context);
  void runTasks(int64_t thread);
  void help(int64_t thread);
  void spinWhile(const std::atomic<uint64_t> &word, uint64_t value) const;

  std::vector<std::thread> helpers;
  bool canSpin = false;

  std::mutex mutex;
  std::condition_variable wake;
  std::condition_variable idle;
  /// Counts jobs. Written under the mutex.
  std::atomic<uint64_t> generation{0};
  /// Helpers at the current job. Written under the mutex.
  std::atomic<uint64_t> numActive{0};
  bool isOpen = false;
  bool isStopping = false;
  int64_t numSleeping = 0;

  /// The current job, which helpers see once they have joined it.
  Function function = nullptr;
  void *context = nullptr;
  int64_t count = 0;
  std::atomic<int64_t> next{0};
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_CPU_TASKPOOL_H
