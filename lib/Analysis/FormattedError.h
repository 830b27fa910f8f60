//===- FormattedError.h - Errors with a formatted text ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_FORMATTEDERROR_H
#define REGATHER_LIB_ANALYSIS_FORMATTEDERROR_H

#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"

namespace regather {

/// An error whose text is that of `llvm::formatv`.
template <typename... Args>
llvm::Error makeError(const char *format, Args &&...args) {
  return llvm::createStringError(
      llvm::formatv(format, std::forward<Args>(args)...).str());
}

} // namespace regather

#endif // REGATHER_LIB_ANALYSIS_FORMATTEDERROR_H
