//===- Format.h - Numbers and names for people ------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_REPORT_FORMAT_H
#define REGATHER_LIB_REPORT_FORMAT_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace regather::report {

/// With characters of HTML replaced.
std::string escape(llvm::StringRef text);

/// Three digits and a decimal unit: "1.23 GB".
std::string formatBytes(int64_t bytes);
std::string formatFlops(double flops);

/// With a comma between thousands.
std::string formatCount(int64_t count);

/// "12 %", "0.3 %"; empty if `whole` is zero.
std::string formatShare(double part, double whole);

/// How much less `after` is than `before`: "−35 %", "+2 %", "±0 %".
std::string formatChange(double before, double after);

/// A module path, or a text with some, with the numbers in it replaced, so that
/// equal layers are one: "layers.*.attention".
std::string getModulePattern(llvm::StringRef text);

} // namespace regather::report

#endif // REGATHER_LIB_REPORT_FORMAT_H
