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

#include <string>
#include <string_view>

namespace regather {

/// MLIR's parser, and much that works on what it has parsed, recurses for each
/// region, attribute, type, location and expression in another one; the stack
/// ends after some 3000.
inline constexpr size_t kMaxNestingDepth = 1000;

/// Fails where brackets of a text of MLIR are nested deeper than
/// `kMaxNestingDepth` for the first time; bytecode is not looked at. The
/// message begins with `path`, line and column, as those of the parser do.
/// Linear in the size of the text.
Failure checkNestingDepth(const std::string &path, std::string_view text);

} // namespace regather

#endif // REGATHER_SUPPORT_NESTINGDEPTH_H
