//===- Progress.h - How far a long piece of work is -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_TRAINING_PROGRESS_H
#define REGATHER_EXECUTION_TRAINING_PROGRESS_H

#include <cstdint>
#include <string>

namespace regather {

/// Shows on stderr what is going on: a bar that is redrawn on a terminal, one
/// line for each piece of work otherwise, nothing if `quiet`.
class Progress {
public:
  explicit Progress(bool quiet);
  ~Progress() { end(); }

  /// Prints a line about something that is no error.
  void note(const std::string &message);

  /// Begins a piece of work of `total` parts; 0 if it cannot be divided.
  void begin(const std::string &what, int64_t total = 0);
  /// Says that `done` parts are done.
  void advance(int64_t done);
  /// The same of a piece of work whose parts are counted only now.
  void advance(int64_t done, int64_t parts);
  /// Removes the bar, so that a line of output can be printed.
  void clear();
  void end();
  /// Shows nothing from now on.
  void silence();

private:
  void draw(int64_t done);

  bool quiet;
  bool isTerminal;
  bool isDrawn = false;
  std::string what;
  int64_t total = 0;
};

} // namespace regather

#endif // REGATHER_EXECUTION_TRAINING_PROGRESS_H
