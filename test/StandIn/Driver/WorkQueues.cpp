//===- WorkQueues.cpp - Work that runs later than it is enqueued ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkQueues.h"

#include <chrono>
#include <utility>
#include <vector>

using namespace regather::runtime;

void WorkQueues::start(bool newDelays, uint64_t seed) {
  std::lock_guard<std::mutex> lock(mutex);
  delays = newDelays;
  random.seed(seed);
  queues.clear();
  last.clear();
  error = kCuSuccess;
}

/// Runs the first work of a stream. False if none can run now.
bool WorkQueues::runOne(std::unique_lock<std::mutex> &lock, bool mayWait) {
  auto isReady = [&](const Item &item) {
    return (!item.after || *item.after) && (mayWait || !item.isOrdered);
  };
  std::vector<Queue *> ready;
  for (auto &[stream, queue] : queues)
    if (!queue.isRunning && !queue.items.empty() &&
        isReady(queue.items.front()))
      ready.push_back(&queue);
  if (ready.empty())
    return false;
  Queue &queue = *ready[random() % ready.size()];
  Item item = std::move(queue.items.front());
  queue.items.pop_front();
  queue.isRunning = true;
  ++numRunning;
  lock.unlock();
  CuResult result = item.work ? item.work() : kCuSuccess;
  lock.lock();
  --numRunning;
  queue.isRunning = false;
  if (error == kCuSuccess)
    error = result;
  if (item.mark)
    *item.mark = true;
  wake.notify_all();
  return true;
}

/// As much as is enqueued, on average, so that queues stay short.
void WorkQueues::runSome(std::unique_lock<std::mutex> &lock, bool mayWait) {
  for (uint64_t count = random() % 3; count > 0; --count)
    if (!runOne(lock, mayWait))
      return;
}

CuResult WorkQueues::runUntil(const std::function<bool()> &isReached) {
  std::unique_lock<std::mutex> lock(mutex);
  while (!isReached()) {
    if (runOne(lock, /*mayWait=*/true))
      continue;
    // All that is left waits for what other threads run.
    if (numRunning == 0)
      break;
    wake.wait_for(lock, std::chrono::milliseconds(1));
  }
  return error;
}

void WorkQueues::add(int64_t stream, DeviceWork work, const WorkMark &after,
                     const WorkMark &mark) {
  std::unique_lock<std::mutex> lock(mutex);
  queues[stream].items.push_back({std::move(work), after, mark, false});
  runSome(lock, /*mayWait=*/false);
}

void WorkQueues::addInOrder(int64_t rank, int64_t stream, DeviceWork work) {
  std::unique_lock<std::mutex> lock(mutex);
  auto mark = std::make_shared<bool>(false);
  WorkMark after = std::exchange(last[rank], mark);
  queues[stream].items.push_back({std::move(work), after, mark, true});
  runSome(lock, /*mayWait=*/false);
}

CuResult WorkQueues::finish(int64_t stream) {
  return runUntil([&] { return queues[stream].isEmpty(); });
}

CuResult WorkQueues::finishAll() {
  return runUntil([&] {
    for (const auto &[stream, queue] : queues)
      if (!queue.isEmpty())
        return false;
    return true;
  });
}

CuResult WorkQueues::finish(const WorkMark &mark) {
  return runUntil([&] { return !mark || *mark; });
}

bool WorkQueues::isDone(int64_t stream, CuResult &result) {
  std::unique_lock<std::mutex> lock(mutex);
  runSome(lock, /*mayWait=*/true);
  result = error;
  return queues[stream].isEmpty();
}

bool WorkQueues::isDone(const WorkMark &mark, CuResult &result) {
  std::unique_lock<std::mutex> lock(mutex);
  runSome(lock, /*mayWait=*/true);
  result = error;
  return !mark || *mark;
}
