//===- ModulePattern.h - Name modules in options ----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_MODULES_MODULEPATTERN_H
#define REGATHER_ANALYSIS_MODULES_MODULEPATTERN_H

#include "regather/Support/Result.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <vector>

namespace regather {

/// The pattern that claims a path.
struct PatternMatch {
  /// Number of the pattern; nothing if none matches.
  std::optional<unsigned> pattern;
  /// The part of the path that it matched, such as `layers.3`; empty for the
  /// root module.
  llvm::StringRef prefix;
};

struct PatternMatches {
  /// By path.
  std::vector<PatternMatch> matches;
  /// A pattern that is malformed, a path that two patterns match, or all
  /// patterns that match no path.
  Failure failure;
  /// What may have been meant instead; empty if there is no guess.
  std::string hint;
};

/// Matches module patterns with paths. A pattern is a path in which `*` stands
/// for any part of a component: `layers.*` matches `layers.3` and everything
/// in it. At the beginning, `*.` stands for one or more components:
/// `*.attention` matches `layers.3.attention`. `.` is the root module,
/// whose path is empty, without what is in it. `/layers\.[0-3]/` is a regular
/// expression, which matches a whole path and everything in it. Messages name
/// `option`; `what` says what has the paths. Patterns times paths.
PatternMatches matchModulePatterns(llvm::StringRef option,
                                   llvm::ArrayRef<std::string> patterns,
                                   llvm::ArrayRef<llvm::StringRef> paths,
                                   llvm::StringRef what);

} // namespace regather

#endif // REGATHER_ANALYSIS_MODULES_MODULEPATTERN_H
