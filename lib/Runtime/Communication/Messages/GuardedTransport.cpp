//===- GuardedTransport.cpp - Ends calls that do not return ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GuardedTransport.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

using namespace regather::runtime;
using regather::Result;

/// The longest time between two looks.
static constexpr std::chrono::nanoseconds kLongestPause =
    std::chrono::milliseconds(500);

GuardedTransport::GuardedTransport(MessageTransport &transport,
                                   std::chrono::nanoseconds limit,
                                   std::function<std::string()> describe)
    : transport(transport), limit(limit), describe(std::move(describe)),
      thread([this] { watch(); }) {}

GuardedTransport::~GuardedTransport() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isOver = true;
  }
  wake.notify_all();
  thread.join();
}

namespace {
/// Counts the begin and the end of a call.
class Call {
public:
  explicit Call(std::atomic<uint64_t> &numEvents) : numEvents(numEvents) {
    numEvents.fetch_add(1, std::memory_order_relaxed);
  }
  ~Call() { numEvents.fetch_add(1, std::memory_order_relaxed); }
  Call(const Call &) = delete;

private:
  std::atomic<uint64_t> &numEvents;
};
} // namespace

Result<uint64_t> GuardedTransport::send(int32_t to, int32_t channel,
                                        const void *data, int64_t bytes) {
  Call call(numEvents);
  return transport.send(to, channel, data, bytes);
}

Result<uint64_t> GuardedTransport::receive(int32_t from, int32_t channel,
                                           void *data, int64_t bytes) {
  Call call(numEvents);
  return transport.receive(from, channel, data, bytes);
}

Result<bool> GuardedTransport::test(uint64_t number) {
  Call call(numEvents);
  return transport.test(number);
}

void GuardedTransport::abort() {
  Call call(numEvents);
  transport.abort();
}

void GuardedTransport::watch() {
  std::unique_lock<std::mutex> lock(mutex);
  const std::chrono::nanoseconds pause = std::min(limit / 4, kLongestPause);
  uint64_t last = 0;
  // Counted by looks and not by the clock: the whole process may have been
  // stopped, and its calls with it.
  std::chrono::nanoseconds inCall(0);
  while (!wake.wait_for(lock, pause, [this] { return isOver; })) {
    uint64_t now = numEvents.load(std::memory_order_relaxed);
    bool isSameCall = now == last && now % 2 == 1;
    inCall = isSameCall ? inCall + pause : std::chrono::nanoseconds(0);
    last = now;
    if (inCall >= limit)
      endProcess();
  }
}

void GuardedTransport::endProcess() {
  std::fprintf(
      stderr,
      "regather: error: timeout: rank %d is in a call of the message library "
      "that has not returned for %g seconds; %s; the process ends\n",
      int(getRank()), std::chrono::duration<double>(limit).count(),
      describe().c_str());
  std::fflush(stderr);
  std::_Exit(kExitCode);
}
