//===- PtxText.cpp - The words of PTX -------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxText.h"

#include <algorithm>
#include <cstdlib>

using namespace regather::runtime;

bool regather::runtime::startsWith(std::string_view text,
                                   std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

std::string_view regather::runtime::trim(std::string_view text) {
  size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

std::vector<std::string_view> regather::runtime::split(std::string_view text,
                                                       char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  auto add = [&](size_t end) {
    if (std::string_view part = trim(text.substr(begin, end - begin));
        !part.empty())
      parts.push_back(part);
    begin = end + 1;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '{' || text[i] == '[' || text[i] == '(';
    depth -= text[i] == '}' || text[i] == ']' || text[i] == ')';
    if (text[i] == separator && depth == 0)
      add(i);
  }
  add(text.size());
  return parts;
}

int64_t regather::runtime::readNumber(std::string_view text) {
  return std::strtoll(std::string(text).c_str(), nullptr, 0);
}

size_t regather::runtime::findClosingBrace(std::string_view text,
                                           size_t begin) {
  int depth = 0;
  for (size_t i = begin; i < text.size(); ++i) {
    depth += text[i] == '{';
    depth -= text[i] == '}';
    if (depth == 0)
      return i;
  }
  return text.size();
}

std::string regather::runtime::removeComments(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = trim(line.substr(0, line.find("//")));
    result += line;
    result += !line.empty() && line.back() == ':' ? ";\n" : "\n";
  }
  return result;
}
