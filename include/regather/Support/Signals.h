//===- Signals.h - Signals that a program answers itself --------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_SUPPORT_SIGNALS_H
#define REGATHER_SUPPORT_SIGNALS_H

#include <csignal>

namespace regather {

/// Lets a write beyond the limit on the size of files fail as one to a full
/// disk does, here and in programs that are started, instead of ending them.
void ignoreFileSizeSignal();

/// While it lives, SIGINT and SIGTERM do not end the process: the first one is
/// kept for who asks, so that work can be brought to an end. Another one after
/// a second or more ends it at once; launchers send the same one twice within
/// less. What is ignored from the start stays so. One may live at a time.
class StopSignals {
public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals &) = delete;

  /// The signal that has arrived; 0 if none has.
  int get() const;

private:
  struct sigaction oldInterrupt = {}, oldTerminate = {};
};

} // namespace regather

#endif // REGATHER_SUPPORT_SIGNALS_H
