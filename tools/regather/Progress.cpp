//===- Progress.cpp - How far a long piece of work is ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Progress.h"

#include "llvm/Support/raw_ostream.h"

using namespace regather;

static constexpr int64_t kBarWidth = 30;

Progress::Progress(bool quiet)
    : quiet(quiet), isTerminal(llvm::errs().is_displayed()) {}

void Progress::begin(llvm::StringRef name, int64_t parts) {
  what = name.str();
  total = parts;
  if (quiet)
    return;
  if (isTerminal)
    draw(0);
  else
    llvm::errs() << "regather: " << what << '\n';
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
  llvm::errs() << "\r\033[K" << what;
  if (total > 0) {
    int64_t filled = kBarWidth * done / total;
    llvm::errs() << " [" << std::string(filled, '=')
                 << std::string(kBarWidth - filled, ' ') << "] " << done << '/'
                 << total;
  }
  llvm::errs().flush();
  isDrawn = true;
}

void Progress::clear() {
  if (isDrawn)
    llvm::errs() << "\r\033[K";
  isDrawn = false;
}

void Progress::end() { clear(); }
