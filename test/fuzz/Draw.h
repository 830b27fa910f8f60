//===- Draw.h - Seeded decisions --------------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_FUZZ_DRAW_H
#define REGATHER_TEST_FUZZ_DRAW_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <initializer_list>
#include <random>

namespace regather::fuzz {

/// Decisions that follow from a seed alone, on every machine: the generator is
/// that of the standard, its distributions, which differ, are not used.
class Draw {
public:
  explicit Draw(uint64_t seed) : random(seed) {}

  /// From 0 up to `count`, which is positive, exclusive.
  uint64_t below(uint64_t count) { return random() % count; }
  /// Between both, inclusive.
  int64_t between(int64_t first, int64_t last) {
    return first + static_cast<int64_t>(below(last - first + 1));
  }
  bool percent(unsigned chance) { return below(100) < chance; }

  template <typename T> const T &oneOf(llvm::ArrayRef<T> values) {
    return values[below(values.size())];
  }
  template <typename T> T oneOf(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }

  /// The seed of decisions of their own, which others do not shift.
  uint64_t fork() { return random(); }

private:
  std::mt19937_64 random;
};

} // namespace regather::fuzz

#endif // REGATHER_TEST_FUZZ_DRAW_H
