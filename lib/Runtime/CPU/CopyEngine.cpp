//===- CopyEngine.cpp - Copies beside computation -------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CopyEngine.h"

#include <cstring>
#include <system_error>

using namespace regather::runtime;

CopyEngine::~CopyEngine() {
  {
    std::lock_guard lock(mutex);
    isStopping = true;
  }
  changed.notify_all();
  if (thread.joinable())
    thread.join();
}

bool CopyEngine::start() {
  try {
    thread = std::thread([this] { run(); });
  } catch (const std::system_error &) {
    return false;
  }
  return true;
}

void CopyEngine::begin(void *target, const void *source, int64_t bytes) {
  {
    std::lock_guard lock(mutex);
    copies.push_back({target, source, bytes, Clock::now(), {}});
  }
  changed.notify_all();
}

CopyEngine::Times CopyEngine::finish() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [this] { return numComplete > 0; });
  Times times = copies.front().times;
  copies.pop_front();
  --numComplete;
  return times;
}

void CopyEngine::run() {
  Clock::time_point free;
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock,
                 [this] { return isStopping || numComplete < copies.size(); });
    if (isStopping)
      return;
    // The list may grow meanwhile, but this copy keeps its place in memory.
    Copy &copy = copies[numComplete];
    lock.unlock();
    copy.times.begin = std::max(copy.issued, free);
    if (copy.bytes > 0)
      std::memcpy(copy.target, copy.source, size_t(copy.bytes));
    Clock::time_point arrival =
        link.getArrival(copy.issued, free, double(copy.bytes));
    lock.lock();
    while (!isStopping && Clock::now() < arrival)
      changed.wait_until(lock, arrival);
    copy.times.end = free = Clock::now();
    ++numComplete;
    changed.notify_all();
  }
}
