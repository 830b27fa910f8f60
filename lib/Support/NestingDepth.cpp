//===- NestingDepth.cpp - How deep a text of MLIR is nested ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Support/NestingDepth.h"

#include <algorithm>
#include <optional>

using namespace regather;

/// Where what begins with a quote or a slash ends, if it is a string or a
/// comment; else where the next character is.
static size_t skipText(std::string_view text, size_t at) {
  if (text[at] == '"') {
    for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
      at += text[at] == '\\' ? 1 : 0;
    return at + 1;
  }
  if (text.substr(at, 2) == "//")
    return std::min(text.find('\n', at), text.size());
  return at + 1;
}

/// Takes the bracket that `closing` ends off those that are open. An angle in
/// between was none, but a comparison.
static void close(std::string &open, char closing) {
  char opening = closing == ')'   ? '('
                 : closing == ']' ? '['
                 : closing == '}' ? '{'
                                  : '<';
  if (opening == '<') {
    if (!open.empty() && open.back() == '<')
      open.pop_back();
    return;
  }
  while (!open.empty() && open.back() == '<')
    open.pop_back();
  // What does not match is left to the parser.
  if (!open.empty() && open.back() == opening)
    open.pop_back();
}

/// Where the first bracket is that is nested too deep.
static std::optional<size_t> findDeepNesting(std::string_view text) {
  std::string open;
  for (size_t at = 0; at < text.size();) {
    std::string_view two = text.substr(at, 2);
    // These are no angles.
    if (two == "->" || two == ">=" || two == "<=") {
      at += 2;
      continue;
    }
    switch (text[at]) {
    case '(':
    case '[':
    case '{':
    case '<':
      open += text[at];
      if (open.size() > kMaxNestingDepth)
        return at;
      break;
    case ')':
    case ']':
    case '}':
    case '>':
      close(open, text[at]);
      break;
    default:
      break;
    }
    at = skipText(text, at);
  }
  return std::nullopt;
}

std::optional<BracketPlace> regather::findDeepBracket(std::string_view text) {
  std::string_view bytecode = "ML\xefR";
  if (text.substr(0, bytecode.size()) == bytecode)
    return std::nullopt;
  std::optional<size_t> at = findDeepNesting(text);
  if (!at)
    return std::nullopt;
  std::string_view before = text.substr(0, *at);
  auto line = 1 + std::count(before.begin(), before.end(), '\n');
  // Before the first line, `npos` is what one before it would be.
  size_t column = before.size() - before.rfind('\n');
  return BracketPlace{static_cast<unsigned>(line),
                      static_cast<unsigned>(column)};
}

std::string regather::getDeepNestingMessage() {
  return "brackets are nested deeper than " + std::to_string(kMaxNestingDepth) +
         " levels";
}

Failure regather::checkNestingDepth(const std::string &path,
                                    std::string_view text) {
  std::optional<BracketPlace> place = findDeepBracket(text);
  if (!place)
    return Failure();
  return Failure(path + ':' + std::to_string(place->line) + ':' +
                 std::to_string(place->column) +
                 ": error: " + getDeepNestingMessage());
}
