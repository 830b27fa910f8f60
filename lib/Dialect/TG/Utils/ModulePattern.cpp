//===- ModulePattern.cpp - Name modules in options ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Utils/ModulePattern.h"

#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace regather::tg;

namespace {
/// A pattern, component by component.
using Components = SmallVector<llvm::GlobPattern, 4>;
} // namespace

static FailureOr<Components> parsePattern(FunctionOpInterface func,
                                          StringRef option, StringRef text) {
  Components components;
  SmallVector<StringRef> parts;
  text.split(parts, '.');
  for (StringRef part : parts) {
    llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(part);
    if (!glob)
      return func.emitError()
             << "pattern \"" << text << "\" of option '" << option
             << "' is malformed: " << llvm::toString(glob.takeError());
    if (part.empty())
      return func.emitError() << "pattern \"" << text << "\" of option '"
                              << option << "' has an empty component";
    components.push_back(std::move(*glob));
  }
  return components;
}

/// The prefix of `path` that the pattern matches; empty if it does not.
static StringRef match(const Components &pattern, StringRef path) {
  StringRef rest = path;
  for (const llvm::GlobPattern &component : pattern) {
    if (rest.empty())
      return {};
    auto [first, others] = rest.split('.');
    if (!component.match(first))
      return {};
    rest = others;
  }
  return path.drop_back(rest.empty() ? 0 : rest.size() + 1);
}

FailureOr<std::vector<PatternMatch>>
regather::tg::matchPatterns(FunctionOpInterface func, StringRef option,
                            ArrayRef<std::string> patterns,
                            ArrayRef<StringRef> paths, StringRef what) {
  std::vector<PatternMatch> matches(paths.size());
  for (auto [number, text] : llvm::enumerate(patterns)) {
    FailureOr<Components> pattern = parsePattern(func, option, text);
    if (failed(pattern))
      return failure();
    bool any = false;
    for (auto [path, found] : llvm::zip_equal(paths, matches)) {
      StringRef prefix = match(*pattern, path);
      if (prefix.empty())
        continue;
      any = true;
      if (found.pattern)
        return func.emitError()
               << "\"" << path << "\" is claimed by two patterns of option '"
               << option << "': \"" << patterns[*found.pattern] << "\" and \""
               << text << '"';
      found.pattern = number;
      found.prefix = prefix;
    }
    if (!any)
      return func.emitError() << "pattern \"" << text << "\" of option '"
                              << option << "' matches no " << what;
  }
  return matches;
}
