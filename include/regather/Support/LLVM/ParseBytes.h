//===- ParseBytes.h - Numbers of bytes with units ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_SUPPORT_LLVM_PARSEBYTES_H
#define REGATHER_SUPPORT_LLVM_PARSEBYTES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MathExtras.h"

#include <optional>
#include <utility>

namespace regather {

/// Parses a whole number of bytes with a unit or without: `4096`, `4096B`,
/// `300KB` or `300kB` (of 10^3 bytes), `80GB` (of 10^9), `64GiB` (of 2^30).
/// Nothing for other texts, numbers below zero, and those that 63 bits do not
/// hold.
inline std::optional<int64_t> parseBytes(llvm::StringRef text) {
  constexpr std::pair<llvm::StringLiteral, int64_t> kUnits[] = {
      {"kB", 1000},
      {"KB", 1000},
      {"MB", 1000 * 1000},
      {"GB", 1000 * 1000 * 1000},
      {"TB", int64_t(1000) * 1000 * 1000 * 1000},
      {"KiB", 1 << 10},
      {"MiB", 1 << 20},
      {"GiB", 1 << 30},
      {"TiB", int64_t(1) << 40},
      {"B", 1}};
  int64_t unit = 1;
  for (const auto &[name, size] : kUnits)
    if (text.consume_back(name)) {
      unit = size;
      break;
    }
  int64_t count = 0, bytes = 0;
  if (text.getAsInteger(10, count) || count < 0 ||
      llvm::MulOverflow(count, unit, bytes))
    return std::nullopt;
  return bytes;
}

} // namespace regather

#endif // REGATHER_SUPPORT_LLVM_PARSEBYTES_H
