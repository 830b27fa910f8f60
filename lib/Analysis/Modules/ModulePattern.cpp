//===- ModulePattern.cpp - Name modules in options ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Modules/ModulePattern.h"

#include "regather/Analysis/Modules/ModuleNames.h"
#include "regather/Support/LLVM/MakeFailure.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/Regex.h"

using namespace llvm;
using namespace regather;

namespace {
/// A pattern, component by component, or a regular expression.
struct PathPattern {
  /// The root module: no component.
  bool isRoot = false;
  SmallVector<llvm::GlobPattern, 4> components;
  /// The first component stands for one or more.
  bool atAnyDepth = false;
  std::optional<llvm::Regex> regex;
};
} // namespace

static Result<PathPattern> parseRegex(StringRef option, StringRef text) {
  PathPattern pattern;
  pattern.regex.emplace(("^(" + text.drop_front().drop_back() + ")$").str());
  std::string error;
  if (pattern.regex->isValid(error))
    return std::move(pattern);
  return makeFailure("regular expression \"" + text + "\" of option '" +
                     option + "' is malformed: " + error);
}

static Result<PathPattern> parsePattern(StringRef option, StringRef text) {
  if (text.size() > 1 && text.front() == '/' && text.back() == '/')
    return parseRegex(option, text);
  PathPattern pattern;
  if (text == kRootPattern) {
    pattern.isRoot = true;
    return std::move(pattern);
  }
  SmallVector<StringRef> parts;
  text.split(parts, '.');
  for (StringRef part : parts) {
    Expected<GlobPattern> glob = GlobPattern::create(part);
    if (!glob)
      return makeFailure("pattern \"" + text + "\" of option '" + option +
                         "' is malformed: " + toString(glob.takeError()));
    if (part.empty())
      return makeFailure("pattern \"" + text + "\" of option '" + option +
                         "' has an empty component");
    pattern.components.push_back(std::move(*glob));
  }
  pattern.atAnyDepth = parts.size() > 1 && parts.front() == "*";
  return std::move(pattern);
}

/// The shortest path of a module that `path` is in, or is, and that the regular
/// expression matches; nothing if it matches none.
static std::optional<StringRef> matchRegex(const llvm::Regex &regex,
                                           StringRef path) {
  for (size_t end = path.find('.');; end = path.find('.', end + 1)) {
    StringRef module = path.take_front(end);
    if (regex.match(module))
      return module;
    if (end == StringRef::npos)
      return std::nullopt;
  }
}

/// True if the components match the beginning of `path`; leaves what follows.
static bool consume(ArrayRef<llvm::GlobPattern> components, StringRef &path) {
  for (const llvm::GlobPattern &component : components) {
    if (path.empty())
      return false;
    auto [first, others] = path.split('.');
    if (!component.match(first))
      return false;
    path = others;
  }
  return true;
}

/// The prefix of `path` that the pattern matches; nothing if it does not.
static std::optional<StringRef> match(const PathPattern &pattern,
                                      StringRef path) {
  if (pattern.isRoot)
    return path.empty() ? std::optional(path) : std::nullopt;
  if (pattern.regex)
    return matchRegex(*pattern.regex, path);
  ArrayRef<llvm::GlobPattern> components = pattern.components;
  auto getPrefix = [&](StringRef rest) {
    return path.drop_back(rest.empty() ? 0 : rest.size() + 1);
  };
  StringRef rest = path;
  if (!pattern.atAnyDepth)
    return consume(components, rest) ? std::optional(getPrefix(rest))
                                     : std::nullopt;
  // The shortest prefix that matches is the module.
  while (!rest.empty()) {
    rest = rest.split('.').second;
    StringRef candidate = rest;
    if (consume(components.drop_front(), candidate))
      return getPrefix(candidate);
  }
  return std::nullopt;
}

/// The outermost modules of `paths` that no pattern claims, those with a number
/// behind them as `layers.*`, quoted.
static std::vector<std::string> findUnclaimed(ArrayRef<StringRef> paths,
                                              ArrayRef<PatternMatch> matches,
                                              ArrayRef<PathPattern> others) {
  llvm::SetVector<StringRef> claimed, open;
  llvm::StringSet<> numbered;
  for (auto [i, found] : llvm::enumerate(matches)) {
    StringRef path = paths[i];
    auto [top, rest] = path.split('.');
    if (path.empty())
      top = kRootPattern;
    bool isClaimed =
        found.pattern || llvm::any_of(others, [&](const PathPattern &other) {
          return match(other, path).has_value();
        });
    (isClaimed ? claimed : open).insert(top);
    unsigned number;
    if (!rest.split('.').first.getAsInteger(10, number))
      numbered.insert(top);
  }
  std::vector<std::string> names;
  for (StringRef top : open)
    if (!claimed.contains(top))
      names.push_back(
          ("\"" + top + (numbered.contains(top) ? ".*\"" : "\"")).str());
  return names;
}

/// What there is instead of what a pattern names: the outermost modules or, for
/// a pattern that begins anywhere, the names that could stand in it.
static std::string summarizeChoices(const PathPattern &pattern,
                                    ArrayRef<StringRef> paths) {
  constexpr size_t kMaxNames = 16;
  if (!pattern.atAnyDepth)
    return summarizePaths(paths);
  llvm::SetVector<StringRef> names;
  for (StringRef path : paths)
    for (StringRef name : llvm::split(path, '.'))
      if (!llvm::all_of(name, llvm::isDigit))
        names.insert(name);
  std::string text =
      "modules called " +
      llvm::join(names.getArrayRef().take_front(kMaxNames), ", ");
  return names.size() > kMaxNames ? text + ", ..." : text;
}

/// What may be meant by `pattern`, the first of `patterns`, which matches none
/// of `paths`; empty if there is no guess.
static std::string makeHint(StringRef option, const PathPattern &pattern,
                            ArrayRef<std::string> patterns,
                            ArrayRef<StringRef> paths,
                            ArrayRef<PatternMatch> matches) {
  if (pattern.atAnyDepth)
    return "";
  std::vector<PathPattern> others;
  // Errors of the other patterns are not reported here: their turn has not
  // come.
  for (StringRef text : patterns.drop_front())
    if (auto other = parsePattern(option, text))
      others.push_back(std::move(*other));
  std::vector<std::string> names = findUnclaimed(paths, matches, others);
  // A pattern that begins with the suggested name is not misspelt there.
  StringRef text = patterns.front();
  std::string first =
      ("\"" + (pattern.isRoot ? text : text.split('.').first) + "\"").str();
  if (names.empty() || is_contained(names, first))
    return "";
  return std::string("did you mean ") + (names.size() > 1 ? "one of " : "") +
         join(names, ", ") + "?";
}

/// Says which of `patterns` match no path.
static Failure listUnmatched(StringRef option, ArrayRef<std::string> patterns,
                             ArrayRef<size_t> unmatched, StringRef what,
                             const std::string &choices) {
  std::string names;
  for (size_t number : unmatched) {
    bool isLast = number == unmatched.back();
    names += (names.empty() ? "\""
              : isLast      ? " and \""
                            : ", \"") +
             patterns[number] + "\"";
  }
  bool isOne = unmatched.size() == 1;
  return makeFailure((isOne ? "pattern " : "patterns ") + names +
                     " of option '" + option + "' " +
                     (isOne ? "matches no " : "match no ") + what +
                     "; there are " + choices);
}

PatternMatches regather::matchModulePatterns(StringRef option,
                                             ArrayRef<std::string> patterns,
                                             ArrayRef<StringRef> paths,
                                             StringRef what) {
  PatternMatches result;
  std::vector<PatternMatch> &matches = result.matches;
  matches.resize(paths.size());
  std::vector<size_t> unmatched;
  std::optional<PathPattern> firstUnmatched;
  for (auto [number, text] : enumerate(patterns)) {
    Result<PathPattern> pattern = parsePattern(option, text);
    if (!pattern) {
      result.failure = pattern.getFailure();
      return result;
    }
    bool any = false;
    for (auto [path, found] : zip_equal(paths, matches)) {
      std::optional<StringRef> prefix = match(*pattern, path);
      if (!prefix)
        continue;
      any = true;
      if (found.pattern) {
        result.failure = makeFailure(
            "\"" + (path.empty() ? StringRef(kRootPattern) : path) +
            "\" is claimed by two patterns of option '" + option + "': \"" +
            patterns[*found.pattern] + "\" and \"" + text + "\"");
        return result;
      }
      found.pattern = number;
      found.prefix = *prefix;
    }
    if (any)
      continue;
    unmatched.push_back(number);
    if (!firstUnmatched)
      firstUnmatched = std::move(*pattern);
  }
  if (!firstUnmatched)
    return result;
  result.failure = listUnmatched(option, patterns, unmatched, what,
                                 summarizeChoices(*firstUnmatched, paths));
  result.hint =
      makeHint(option, *firstUnmatched, patterns.drop_front(unmatched.front()),
               paths, matches);
  return result;
}
