//===- BucketPlan.cpp - Which modules share a bucket ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Buckets/BucketPlan.h"

#include "regather/Analysis/Modules/ModuleNames.h"
#include "regather/Support/LLVM/MakeFailure.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace regather;
using llvm::StringRef;

namespace {
class PlanParser {
public:
  PlanParser(StringRef text, StringRef file) : text(text), file(file) {}

  Result<BucketPlan> parse();

private:
  Failure fail(const llvm::Twine &expected) const;
  void skipSpace();
  bool consume(char c);
  Failure parseBucket();
  Failure parseElements();
  Failure parseItem();
  Failure parseRegex();
  bool consumeEach();
  void addPattern(size_t begin);

  bool isAtEnd() const { return position == text.size(); }

  StringRef text, file;
  size_t position = 0;
  BucketPlan plan;
};
} // namespace

Failure PlanParser::fail(const llvm::Twine &expected) const {
  StringRef before = text.take_front(position);
  std::string column = std::to_string(position - (before.rfind('\n') + 1) + 1);
  std::string where =
      file.empty()
          ? "option 'plan', character " + column
          : (file + ":" + llvm::Twine(before.count('\n') + 1) + ":" + column)
                .str();
  std::string got =
      isAtEnd() ? "the end" : "'" + std::string(1, text[position]) + "'";
  return makeFailure(where + ": expects " + expected + ", got " + got);
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

Failure PlanParser::parseRegex() {
  size_t begin = position++;
  while (!isAtEnd() && text[position] != '/')
    position =
        std::min(position + (text[position] == '\\' ? 2 : 1), text.size());
  if (isAtEnd())
    return fail("'/' at the end of the regular expression");
  ++position;
  addPattern(begin);
  return Failure();
}

Failure PlanParser::parseItem() {
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
  return Failure();
}

Failure PlanParser::parseElements() {
  unsigned depth = 0;
  while (true) {
    while (consume('['))
      ++depth;
    if (Failure failure = parseItem())
      return failure;
    while (depth > 0 && consume(']'))
      --depth;
    if (depth == 0)
      return Failure();
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

Failure PlanParser::parseBucket() {
  plan.buckets.emplace_back();
  if (Failure failure = parseElements())
    return failure;
  plan.buckets.back().isEach = consumeEach();
  skipSpace();
  return Failure();
}

Result<BucketPlan> PlanParser::parse() {
  skipSpace();
  if (isAtEnd())
    return std::move(plan);
  do {
    if (Failure failure = parseBucket())
      return failure;
  } while (consume(','));
  if (!isAtEnd())
    return fail("',' or \"each\"");
  return std::move(plan);
}

Result<BucketPlan> regather::readBucketPlan(StringRef text) {
  StringRef file = text.trim();
  if (!file.consume_front("@"))
    return PlanParser(text, "").parse();
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer)
    return makeFailure("cannot read '" + file +
                       "' of option 'plan': " + buffer.getError().message());
  return PlanParser((*buffer)->getBuffer(), file).parse();
}

std::string BucketPlan::getBucketName(const PatternMatch &match) const {
  if (!match.pattern)
    return "";
  const Bucket &bucket = buckets[bucketOf[*match.pattern]];
  if (!bucket.isEach)
    return bucket.name;
  return match.prefix.empty() ? kRootPattern.str() : match.prefix.str();
}
