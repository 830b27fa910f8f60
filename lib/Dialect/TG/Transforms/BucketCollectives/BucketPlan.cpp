//===- BucketPlan.cpp - Which modules share a bucket ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BucketPlan.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace regather::tg::buckets;
using llvm::StringRef;

namespace {
class PlanParser {
public:
  PlanParser(StringRef text, StringRef file) : text(text), file(file) {}

  llvm::Expected<BucketPlan> parse();

private:
  llvm::Error fail(const llvm::Twine &expected) const;
  void skipSpace();
  bool consume(char c);
  llvm::Error parseBucket();
  llvm::Error parseElements();
  llvm::Error parseItem();
  llvm::Error parseRegex();
  bool consumeEach();
  void addPattern(size_t begin);

  bool isAtEnd() const { return position == text.size(); }

  StringRef text, file;
  size_t position = 0;
  BucketPlan plan;
};
} // namespace

llvm::Error PlanParser::fail(const llvm::Twine &expected) const {
  StringRef before = text.take_front(position);
  std::string column = std::to_string(position - (before.rfind('\n') + 1) + 1);
  std::string where =
      file.empty()
          ? "option 'plan', character " + column
          : (file + ":" + llvm::Twine(before.count('\n') + 1) + ":" + column)
                .str();
  std::string got =
      isAtEnd() ? "the end" : "'" + std::string(1, text[position]) + "'";
  return llvm::createStringError(where + ": expects " + expected + ", got " +
                                 got);
}

/// Skips comments, too.
void PlanParser::skipSpace() {
  while (!isAtEnd() && (llvm::isSpace(text[position]) || text[position] == '#'))
    position = text[position] == '#'
                   ? std::min(text.find('\n', position), text.size())
                   : position + 1;
}

bool PlanParser::consume(char c) {
  skipSpace();
  if (isAtEnd() || text[position] != c)
    return false;
  ++position;
  return true;
}

void PlanParser::addPattern(size_t begin) {
  StringRef pattern = text.slice(begin, position);
  plan.patterns.push_back(pattern.str());
  plan.bucketOf.push_back(plan.buckets.size() - 1);
  std::string &name = plan.buckets.back().name;
  name += (name.empty() ? "" : ",") + pattern.str();
}

llvm::Error PlanParser::parseRegex() {
  size_t begin = position++;
  while (!isAtEnd() && text[position] != '/')
    position =
        std::min(position + (text[position] == '\\' ? 2 : 1), text.size());
  if (isAtEnd())
    return fail("'/' at the end of the regular expression");
  ++position;
  addPattern(begin);
  return llvm::Error::success();
}

llvm::Error PlanParser::parseItem() {
  skipSpace();
  if (!isAtEnd() && text[position] == '/')
    return parseRegex();
  size_t begin = position;
  while (!isAtEnd() && !llvm::isSpace(text[position]) &&
         text[position] != ',' && text[position] != ']' &&
         text[position] != '#') {
    // A set of characters, as in layers.[0-3].
    if (text[position] == '[')
      position = std::min(text.find(']', position), text.size());
    if (isAtEnd())
      return fail("']'");
    ++position;
  }
  if (position == begin)
    return fail("a module pattern");
  addPattern(begin);
  return llvm::Error::success();
}

llvm::Error PlanParser::parseElements() {
  unsigned depth = 0;
  while (true) {
    while (consume('['))
      ++depth;
    if (llvm::Error error = parseItem())
      return error;
    while (depth > 0 && consume(']'))
      --depth;
    if (depth == 0)
      return llvm::Error::success();
    if (!consume(','))
      return fail("',' or ']'");
  }
}

bool PlanParser::consumeEach() {
  skipSpace();
  StringRef rest = text.drop_front(position);
  if (!rest.consume_front("each") ||
      !(rest.empty() || llvm::isSpace(rest.front()) || rest.front() == ',' ||
        rest.front() == '#'))
    return false;
  position = text.size() - rest.size();
  return true;
}

llvm::Error PlanParser::parseBucket() {
  plan.buckets.emplace_back();
  if (llvm::Error error = parseElements())
    return error;
  plan.buckets.back().isEach = consumeEach();
  skipSpace();
  return llvm::Error::success();
}

llvm::Expected<BucketPlan> PlanParser::parse() {
  skipSpace();
  if (isAtEnd())
    return std::move(plan);
  do {
    if (llvm::Error error = parseBucket())
      return std::move(error);
  } while (consume(','));
  if (!isAtEnd())
    return fail("',' or \"each\"");
  return std::move(plan);
}

llvm::Expected<BucketPlan>
regather::tg::buckets::readBucketPlan(StringRef text) {
  StringRef file = text.trim();
  if (!file.consume_front("@"))
    return PlanParser(text, "").parse();
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer)
    return llvm::createStringError(
        "cannot read '" + file +
        "' of option 'plan': " + buffer.getError().message());
  return PlanParser((*buffer)->getBuffer(), file).parse();
}
