//===- MeshText.h - Axes of meshes as text -------------------- -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_SUPPORT_MESHTEXT_H
#define REGATHER_SUPPORT_MESHTEXT_H

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace regather {

/// The name and the size of an axis such as `dp:4`, the name as a part of
/// `text`. Nothing if it has no name or its size is no number; whether there is
/// a mesh of such a size is for the caller to say.
inline std::optional<std::pair<std::string_view, int64_t>>
parseMeshAxis(std::string_view text) {
  size_t colon = text.find(':');
  if (colon == 0 || colon == std::string_view::npos)
    return std::nullopt;
  int64_t size = 0;
  const char *end = text.data() + text.size();
  auto [last, error] = std::from_chars(text.data() + colon + 1, end, size);
  if (error != std::errc() || last != end)
    return std::nullopt;
  return std::make_pair(text.substr(0, colon), size);
}

} // namespace regather

#endif // REGATHER_SUPPORT_MESHTEXT_H
