//===- WorkerPool.h - Threads that move data --------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A fixed number of threads that work on jobs in the order of submission.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_COMMUNICATION_THREADS_WORKERPOOL_H
#define REGATHER_LIB_RUNTIME_COMMUNICATION_THREADS_WORKERPOOL_H

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace regather::runtime {

/// Work in `getNumParts()` parts, which run at the same time and in any order.
class Job {
public:
  virtual ~Job() = default;
  virtual int64_t getNumParts() const = 0;
  virtual void run(int64_t part) = 0;
  /// Called once, after the last part, by the worker that ran it.
  virtual void finish() = 0;
};

class WorkerPool {
public:
  WorkerPool() = default;
  WorkerPool(const WorkerPool &) = delete;
  WorkerPool &operator=(const WorkerPool &) = delete;

  /// Runs all submitted jobs to their end, then joins the threads.
  ~WorkerPool();

  /// Starts up to `count` threads and returns how many there are; a system that
  /// grants fewer makes the pool slower, not wrong.
  int64_t start(int64_t count);

  /// Enqueues a job of at least one part. Does not run it on this thread.
  void submit(std::shared_ptr<Job> job);

private:
  struct Entry {
    std::shared_ptr<Job> job;
    int64_t nextPart;
    /// Parts that did not end yet; shared with the workers that run them.
    std::shared_ptr<int64_t> unfinished;
  };

  void work();

  std::mutex mutex;
  std::condition_variable wake;
  std::deque<Entry> queue;
  std::vector<std::thread> threads;
  bool stopping = false;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_COMMUNICATION_THREADS_WORKERPOOL_H
