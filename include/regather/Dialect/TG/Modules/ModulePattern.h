//===- ModulePattern.h - Name modules in options ----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_MODULES_MODULEPATTERN_H
#define REGATHER_DIALECT_TG_MODULES_MODULEPATTERN_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace regather::tg {

/// The pattern that claims a path.
struct PatternMatch {
  /// Number of the pattern; nothing if none matches.
  std::optional<unsigned> pattern;
  /// The part of the path that it matched, such as `layers.3`; empty for the
  /// root module.
  llvm::StringRef prefix;
};

/// Matches module patterns with paths. A pattern is a path in which `*` stands
/// for any part of a component: `layers.*` matches `layers.3` and everything
/// in it. At the beginning, `*.` stands for one or more components:
/// `*.attention` matches `layers.3.attention`. `.` is the root module,
/// whose path is empty, without what is in it. `/layers\.[0-3]/` is a regular
/// expression, which matches a whole path and everything in it. Emits an error
/// at `func` for a pattern that matches no path, and for a path that two
/// patterns match, naming `option`; `what` says what has the paths.
mlir::FailureOr<std::vector<PatternMatch>>
matchPatterns(mlir::FunctionOpInterface func, llvm::StringRef option,
              llvm::ArrayRef<std::string> patterns,
              llvm::ArrayRef<llvm::StringRef> paths,
              llvm::StringRef what = "parameter");

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_MODULES_MODULEPATTERN_H
