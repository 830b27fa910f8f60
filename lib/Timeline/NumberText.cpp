//===- NumberText.cpp - Numbers for people --------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Timeline/WriteTimeline.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace regather;

/// `value`, below 1000 but for the last unit, with three digits.
static std::string formatScaled(double value, double base,
                                llvm::ArrayRef<llvm::StringRef> units) {
  size_t unit = 0;
  for (; std::fabs(value) >= 999.5 && unit + 1 < units.size(); ++unit)
    value /= base;
  double size = std::fabs(value);
  const char *format = size == 0      ? "{0:F0} {1}"
                       : size < 9.995 ? "{0:F2} {1}"
                       : size < 99.95 ? "{0:F1} {1}"
                                      : "{0:F0} {1}";
  return llvm::formatv(format, value, units[unit]);
}

std::string regather::formatSeconds(double seconds) {
  if (seconds == 0)
    return "0 s";
  if (std::fabs(seconds) >= 0.9995)
    return formatScaled(seconds, 1000, {"s"});
  return formatScaled(seconds * 1e9, 1000, {"ns", "us", "ms"});
}

std::string regather::formatBytes(int64_t bytes) {
  if (std::abs(bytes) < 1000)
    return std::to_string(bytes) + " B";
  return formatScaled(static_cast<double>(bytes) / 1000, 1000,
                      {"kB", "MB", "GB", "TB", "PB"});
}

std::string regather::formatPercent(double fraction) {
  std::string text = llvm::formatv("{0:F1} %", 100 * fraction);
  // What rounding has left of nothing.
  return text == "-0.0 %" ? "0.0 %" : text;
}

std::string regather::escapeHtml(llvm::StringRef text) {
  std::string escaped;
  llvm::raw_string_ostream os(escaped);
  llvm::printHTMLEscaped(text, os);
  return escaped;
}
