//===- WorkQueues.h - Work that runs later than it is enqueued --*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With REGATHER_STAND_IN_DELAYS the stand-in device runs work some time after
// it was enqueued, in an order that is drawn at random: one of those that the
// streams and events of the caller allow. A wait that is missing, or memory of
// the host that is used again too early, then shows in the results of some
// seed.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_STANDIN_DRIVER_WORKQUEUES_H
#define REGATHER_TEST_STANDIN_DRIVER_WORKQUEUES_H

#include "GPU/Driver/DriverApi.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>

namespace regather::runtime {

/// Runs when it is its turn; returns an error of the driver.
using DeviceWork = std::function<CuResult()>;

/// A place in a stream, which is reached when all before it has run.
using WorkMark = std::shared_ptr<bool>;

/// A queue for each stream, by its number. Work runs in the threads that call.
class WorkQueues {
public:
  /// Delays from now on, or no more; the seed decides about the order. Nothing
  /// is enqueued.
  void start(bool newDelays, uint64_t seed);
  bool isDelaying() const { return delays; }

  /// Adds work to a stream, which runs behind what is there and, if there is
  /// one, behind `after`. Then runs some of what can run. `mark` is reached
  /// with the work.
  void add(int64_t stream, DeviceWork work, const WorkMark &after = nullptr,
           const WorkMark &mark = nullptr);
  /// The same, in one order with all work that is added so for a rank. Kernels
  /// of collectives, which wait for other ranks, are started in such an order.
  void addInOrder(int64_t rank, int64_t stream, DeviceWork work);

  /// Run what is enqueued on a stream, on all of them, or up to a mark, and all
  /// that it waits for. Other work may run, too. Return the first error of work
  /// that has run by now, which stays.
  CuResult finish(int64_t stream);
  CuResult finishAll();
  CuResult finish(const WorkMark &mark);

  /// Runs some work. False if there is more to do on a stream, or up to a mark.
  bool isDone(int64_t stream, CuResult &result);
  bool isDone(const WorkMark &mark, CuResult &result);

private:
  struct Item {
    DeviceWork work;
    WorkMark after, mark;
    /// May wait for other ranks, so it only runs in calls that wait or ask.
    bool isOrdered = false;
  };
  struct Queue {
    std::deque<Item> items;
    bool isRunning = false;

    bool isEmpty() const { return items.empty() && !isRunning; }
  };

  bool runOne(std::unique_lock<std::mutex> &lock, bool mayWait);
  void runSome(std::unique_lock<std::mutex> &lock, bool mayWait);
  CuResult runUntil(const std::function<bool()> &isReached);

  bool delays = false;
  std::mutex mutex;
  std::condition_variable wake;
  std::mt19937_64 random;
  std::map<int64_t, Queue> queues;
  /// Of each rank, the last work that was added in order.
  std::map<int64_t, WorkMark> last;
  size_t numRunning = 0;
  CuResult error = kCuSuccess;
};

} // namespace regather::runtime

#endif // REGATHER_TEST_STANDIN_DRIVER_WORKQUEUES_H
