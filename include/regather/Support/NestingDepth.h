//===- NestingDepth.h - How deep a text of MLIR is nested -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_SUPPORT_NESTINGDEPTH_H
#define REGATHER_SUPPORT_NESTINGDEPTH_H

#include "regather/Support/Result.h"

#include <optional>
#include <string>
#include <string_view>

namespace regather {

/// MLIR's parser, and much that works on what it has parsed, recurses for each
/// region, attribute, type, location and expression in another one; the stack
/// ends after some 3000.
inline constexpr size_t kMaxNestingDepth = 1000;

/// Where a bracket of a text is, counted from 1.
struct BracketPlace {
  unsigned line, column;
};

/// The first bracket of a text of MLIR that is nested deeper than
/// `kMaxNestingDepth`; bytecode is not looked at. Linear in the size of the
/// text.
std::optional<BracketPlace> findDeepBracket(std::string_view text);

/// "brackets are nested deeper than 1000 levels".
std::string getDeepNestingMessage();

/// Fails where brackets of a text of MLIR are nested deeper than
/// `kMaxNestingDepth` for the first time; bytecode is not looked at. The
/// message begins with `path`, line and column, as those of the parser do.
/// Linear in the size of the text.
Failure checkNestingDepth(const std::string &path, std::string_view text);

} // namespace regather

#endif // REGATHER_SUPPORT_NESTINGDEPTH_H
