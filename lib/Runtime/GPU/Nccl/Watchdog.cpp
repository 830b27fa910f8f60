//===- Watchdog.cpp - Ends steps that do not end --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Watchdog.h"

#include <cstdio>
#include <cstdlib>

using namespace regather::runtime;
using regather::Failure;

Watchdog::Watchdog(const Options &options, std::function<Failure()> poll,
                   std::function<void(const std::string &)> fail)
    : options(options), poll(std::move(poll)), fail(std::move(fail)),
      thread([this] { run(); }) {}

Watchdog::~Watchdog() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isOver = true;
  }
  wake.notify_all();
  thread.join();
}

void Watchdog::beginStep() {
  std::lock_guard<std::mutex> lock(mutex);
  isInStep = true;
  begin = Clock::now();
  seconds = isFirst ? options.firstStepSeconds : options.stepSeconds;
  isFirst = false;
}

void Watchdog::endStep() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isInStep = false;
  }
  wake.notify_all();
}

void Watchdog::run() {
  std::unique_lock<std::mutex> lock(mutex);
  std::chrono::duration<double> pause(options.pollSeconds);
  while (!isOver) {
    wake.wait_for(lock, pause);
    if (isOver || !isInStep)
      continue;
    std::chrono::duration<double> elapsed = Clock::now() - begin;
    bool isLate = elapsed.count() > seconds;
    double limit = seconds;
    lock.unlock();
    Failure failure = poll();
    if (!failure && isLate) {
      char text[64];
      std::snprintf(text, sizeof(text), "the step is not done after %g seconds",
                    limit);
      failure = Failure(text);
    }
    std::thread failing;
    if (failure)
      failing = std::thread(fail, failure.getMessage());
    lock.lock();
    if (!failing.joinable())
      continue;
    endProcess(lock, failure.getMessage());
    lock.unlock();
    return failing.join();
  }
}

void Watchdog::endProcess(std::unique_lock<std::mutex> &lock,
                          const std::string &message) {
  auto hasEnded = [this] { return isOver || !isInStep; };
  if (options.graceSeconds < 0)
    return wake.wait(lock, hasEnded);
  std::chrono::duration<double> grace(options.graceSeconds);
  if (wake.wait_for(lock, grace, hasEnded))
    return;
  std::fprintf(stderr, "error: %s; the step did not end after that\n",
               message.c_str());
  std::fflush(stderr);
  std::_Exit(options.exitCode);
}
