//===- WorkerPool.cpp - Threads that move data ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkerPool.h"

#include <system_error>

using namespace regather::runtime;

WorkerPool::~WorkerPool() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  wake.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

int64_t WorkerPool::start(int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    try {
      threads.emplace_back([this] { work(); });
    } catch (const std::system_error &) {
      break;
    }
  }
  return int64_t(threads.size());
}

void WorkerPool::submit(std::shared_ptr<Job> job) {
  int64_t parts = job->getNumParts();
  {
    std::lock_guard<std::mutex> lock(mutex);
    queue.push_back({std::move(job), 0, std::make_shared<int64_t>(parts)});
  }
  if (parts == 1)
    wake.notify_one();
  else
    wake.notify_all();
}

void WorkerPool::work() {
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    wake.wait(lock, [&] { return stopping || !queue.empty(); });
    if (queue.empty())
      return;
    Entry &front = queue.front();
    std::shared_ptr<Job> job = front.job;
    std::shared_ptr<int64_t> unfinished = front.unfinished;
    int64_t part = front.nextPart++;
    if (front.nextPart == job->getNumParts())
      queue.pop_front();

    lock.unlock();
    job->run(part);
    lock.lock();
    if (--*unfinished == 0) {
      lock.unlock();
      job->finish();
      job.reset();
      lock.lock();
    }
  }
}
