//===- ParseJson.h - JSON that others wrote ---------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_SUPPORT_LLVM_PARSEJSON_H
#define REGATHER_SUPPORT_LLVM_PARSEJSON_H

#include "llvm/Support/JSON.h"

namespace regather {

/// No file that Regather reads nests deeper. LLVM's parser recurses for each
/// level, and the stack ends after some ten thousand.
inline constexpr int64_t kMaxJsonDepth = 100;

/// True if brackets outside of strings are nested deeper than `kMaxJsonDepth`.
inline bool isDeeplyNested(llvm::StringRef text) {
  int64_t depth = 0;
  bool inString = false;
  for (size_t i = 0; i != text.size() && depth <= kMaxJsonDepth; ++i) {
    char c = text[i];
    if (inString && c == '\\' && i + 1 != text.size())
      ++i;
    else if (c == '"')
      inString = !inString;
    else if (!inString)
      depth += int64_t(c == '[' || c == '{') - int64_t(c == ']' || c == '}');
  }
  return depth > kMaxJsonDepth;
}

/// Parses JSON of any origin; use this and not `llvm::json::parse`.
inline llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text) {
  if (isDeeplyNested(text))
    return llvm::createStringError("values are nested deeper than " +
                                   llvm::Twine(kMaxJsonDepth) + " levels");
  return llvm::json::parse(text);
}

} // namespace regather

#endif // REGATHER_SUPPORT_LLVM_PARSEJSON_H
