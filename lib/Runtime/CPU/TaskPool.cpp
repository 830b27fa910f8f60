//===- TaskPool.cpp - Threads that help with one job ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TaskPool.h"

#include <system_error>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace regather::runtime;

/// How often an idle thread looks for work before it sleeps: about 50
/// microseconds, what it takes to wake it.
static constexpr int64_t kSpins = 1000;

static void pauseProcessor() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

TaskPool::~TaskPool() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isStopping = true;
    ++generation;
  }
  wake.notify_all();
  for (std::thread &helper : helpers)
    helper.join();
}

bool TaskPool::start(int64_t count, bool spin) {
  canSpin = spin;
  for (int64_t i = 0; i < count; ++i) {
    try {
      helpers.emplace_back([this, i] { help(i + 1); });
    } catch (const std::system_error &) {
      return false;
    }
  }
  return true;
}

void TaskPool::spinWhile(const std::atomic<uint64_t> &word,
                         uint64_t value) const {
  if (!canSpin)
    return;
  for (int64_t i = 0; i < kSpins && word.load() == value; ++i)
    pauseProcessor();
}

void TaskPool::runTasks(int64_t thread) {
  for (int64_t task = next++; task < count; task = next++)
    function(context, task, thread);
}

void TaskPool::runJob(int64_t numTasks, Function body, void *data) {
  if (helpers.empty() || numTasks <= 1) {
    for (int64_t task = 0; task < numTasks; ++task)
      body(data, task, 0);
    return;
  }
  bool mustWake = false;
  {
    std::lock_guard<std::mutex> lock(mutex);
    function = body;
    context = data;
    count = numTasks;
    next = 0;
    isOpen = true;
    ++generation;
    mustWake = numSleeping > 0;
  }
  if (mustWake)
    wake.notify_all();
  runTasks(0);
  // Nothing is left to begin; helpers may still be at their last task.
  for (uint64_t active = numActive; active != 0 && canSpin;) {
    spinWhile(numActive, active);
    uint64_t now = numActive;
    if (now == active)
      break;
    active = now;
  }
  std::unique_lock<std::mutex> lock(mutex);
  isOpen = false;
  idle.wait(lock, [&] { return numActive == 0; });
}

void TaskPool::help(int64_t thread) {
  uint64_t seen = 0;
  while (true) {
    spinWhile(generation, seen);
    std::unique_lock<std::mutex> lock(mutex);
    ++numSleeping;
    wake.wait(lock,
              [&] { return isStopping || (isOpen && generation != seen); });
    --numSleeping;
    if (isStopping)
      return;
    seen = generation;
    ++numActive;
    lock.unlock();
    runTasks(thread);
    lock.lock();
    if (--numActive == 0)
      idle.notify_one();
  }
}
