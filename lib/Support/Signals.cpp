//===- Signals.cpp - Signals that a program answers itself ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Support/Signals.h"

#include <ctime>

using namespace regather;

static volatile std::sig_atomic_t firstSignal = 0;
/// When it came, by the clock that never goes back.
static timespec firstTime;

void regather::ignoreFileSizeSignal() { std::signal(SIGXFSZ, SIG_IGN); }

/// Calls only what a handler may.
static void noteSignal(int signal) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (firstSignal == 0) {
    firstTime = now;
    firstSignal = signal;
    return;
  }
  double elapsed = static_cast<double>(now.tv_sec - firstTime.tv_sec) +
                   static_cast<double>(now.tv_nsec - firstTime.tv_nsec) * 1e-9;
  if (elapsed < 1)
    return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

static void install(int signal, struct sigaction &old) {
  struct sigaction action = {};
  action.sa_handler = noteSignal;
  // One must not interrupt the handler of the other, nor writes.
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGINT);
  sigaddset(&action.sa_mask, SIGTERM);
  action.sa_flags = SA_RESTART;
  sigaction(signal, nullptr, &old);
  if (old.sa_handler != SIG_IGN)
    sigaction(signal, &action, nullptr);
}

StopSignals::StopSignals() {
  firstSignal = 0;
  install(SIGINT, oldInterrupt);
  install(SIGTERM, oldTerminate);
}

StopSignals::~StopSignals() {
  sigaction(SIGINT, &oldInterrupt, nullptr);
  sigaction(SIGTERM, &oldTerminate, nullptr);
}

int StopSignals::get() const { return firstSignal; }
