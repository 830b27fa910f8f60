//===- Progress.cpp - How far a long piece of work is ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Training/Progress.h"

#include <cstdio>
#include <unistd.h>

using namespace regather;

static constexpr int64_t kBarWidth = 30;
static constexpr const char *kClearLine = "\r\033[K";

Progress::Progress(bool quiet)
    : quiet(quiet), isTerminal(isatty(STDERR_FILENO) != 0) {}

void Progress::note(const std::string &message) {
  if (quiet)
    return;
  clear();
  std::fprintf(stderr, "regather: note: %s\n", message.c_str());
}

void Progress::begin(const std::string &name, int64_t parts) {
  what = name;
  total = parts;
  if (quiet)
    return;
  if (isTerminal)
    draw(0);
  else
    std::fprintf(stderr, "regather: %s\n", what.c_str());
}

void Progress::advance(int64_t done) {
  if (!quiet && isTerminal)
    draw(done);
}

void Progress::advance(int64_t done, int64_t parts) {
  total = parts;
  advance(done);
}

void Progress::draw(int64_t done) {
  std::string line = kClearLine + what;
  if (total > 0) {
    int64_t filled = kBarWidth * done / total;
    line += " [" + std::string(filled, '=') +
            std::string(kBarWidth - filled, ' ') + "] " + std::to_string(done) +
            '/' + std::to_string(total);
  }
  std::fputs(line.c_str(), stderr);
  isDrawn = true;
}

void Progress::silence() {
  end();
  quiet = true;
}

void Progress::clear() {
  if (isDrawn)
    std::fputs(kClearLine, stderr);
  isDrawn = false;
}

void Progress::end() { clear(); }
