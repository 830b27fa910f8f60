//===- Format.cpp - Numbers and names for people --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Format.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

namespace report = regather::report;

std::string report::escape(llvm::StringRef text) {
  std::string escaped;
  llvm::raw_string_ostream stream(escaped);
  llvm::printHTMLEscaped(text, stream);
  return escaped;
}

/// Three digits; none behind the point for what has no unit.
static std::string formatUnit(double value, llvm::StringRef unit) {
  static constexpr llvm::StringLiteral prefixes[] = {"",  "k", "M",
                                                     "G", "T", "P"};
  unsigned prefix = 0;
  while (std::abs(value) >= 999.5 && prefix + 1 < std::size(prefixes)) {
    value /= 1000;
    ++prefix;
  }
  const char *format = prefix == 0 || value >= 99.95 ? "%.0f"
                       : value >= 9.995              ? "%.1f"
                                                     : "%.2f";
  char digits[32];
  snprintf(digits, sizeof(digits), format, value);
  return llvm::formatv("{0} {1}{2}", digits, prefixes[prefix], unit).str();
}

std::string report::formatBytes(int64_t bytes) {
  return formatUnit(static_cast<double>(bytes), "B");
}

std::string report::formatFlops(double flops) {
  return formatUnit(flops, "FLOP");
}

std::string report::formatCount(int64_t count) {
  return llvm::formatv("{0:N}", count).str();
}

static std::string formatPart(double share) {
  double percent = 100 * std::abs(share);
  if (percent > 0 && percent < 0.05)
    return "less than 0.1 %";
  bool isSmall = percent > 0 && percent < 9.95;
  return llvm::formatv(isSmall ? "{0:F1} %" : "{0:F0} %", percent).str();
}

std::string report::formatShare(double part, double whole) {
  return whole == 0 ? "" : formatPart(part / whole);
}

std::string report::formatChange(double before, double after) {
  if (before == 0)
    return "";
  const char *sign = after < before ? "−" : after > before ? "+" : "±";
  return sign + formatPart((after - before) / before);
}

std::string report::getModulePattern(llvm::StringRef text) {
  std::string pattern;
  for (size_t i = 0; i != text.size();) {
    size_t end = i;
    while (end != text.size() && llvm::isDigit(text[end]))
      ++end;
    bool isComponent =
        end > i && (i == 0 || text[i - 1] == '.') &&
        (end == text.size() || (!llvm::isAlnum(text[end]) && text[end] != '_'));
    if (isComponent)
      pattern += '*';
    else
      pattern += text.slice(i, end = std::max(end, i + 1));
    i = end;
  }
  return pattern;
}
