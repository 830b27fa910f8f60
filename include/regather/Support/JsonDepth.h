//===- JsonDepth.h - How deep a text of JSON is nested ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_SUPPORT_JSONDEPTH_H
#define REGATHER_SUPPORT_JSONDEPTH_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace regather {

/// No file that Regather reads nests deeper. LLVM's parser recurses for each
/// level, as nlohmann's values do when they are copied, compared and printed,
/// and the stack ends after some ten thousand.
inline constexpr int64_t kMaxJsonDepth = 100;

/// True if brackets outside of strings are nested deeper than `kMaxJsonDepth`.
/// Linear in the size of the text.
inline bool isDeeplyNested(std::string_view text) {
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

/// "values are nested deeper than 100 levels".
inline std::string getDeepJsonMessage() {
  return "values are nested deeper than " + std::to_string(kMaxJsonDepth) +
         " levels";
}

} // namespace regather

#endif // REGATHER_SUPPORT_JSONDEPTH_H
