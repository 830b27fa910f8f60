//===- RecordReader.cpp - Read the record of calls ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/CallOrder.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace regather;

static bool readRanges(const json::Object &object, StringRef field,
                       std::vector<CallRange> &ranges) {
  const json::Value *value = object.get(field);
  if (!value)
    return true;
  const json::Array *array = value->getAsArray();
  if (!array)
    return false;
  for (const json::Value &entry : *array) {
    const json::Array *pair = entry.getAsArray();
    if (!pair || pair->size() != 2)
      return false;
    std::optional<uint64_t> address = (*pair)[0].getAsUINT64();
    std::optional<uint64_t> bytes = (*pair)[1].getAsUINT64();
    if (!address || !bytes || *address + *bytes < *address)
      return false;
    ranges.push_back({*address, *bytes});
  }
  return true;
}

/// True if brackets are nested deeper than in any call; the parser recurses.
static bool isDeeplyNested(StringRef text) {
  constexpr int64_t kMaxDepth = 8;
  int64_t depth = 0;
  bool inString = false;
  for (size_t i = 0; i != text.size() && depth <= kMaxDepth; ++i) {
    char c = text[i];
    if (inString && c == '\\' && i + 1 != text.size())
      ++i;
    else if (c == '"')
      inString = !inString;
    else if (!inString)
      depth += int64_t(c == '[' || c == '{') - int64_t(c == ']' || c == '}');
  }
  return depth > kMaxDepth;
}

/// Reads one call; an error without the line.
static Expected<RecordedCall> readCall(StringRef text) {
  if (isDeeplyNested(text))
    return createStringError("values are nested too deep for a call");
  Expected<json::Value> value = json::parse(text);
  if (!value)
    return value.takeError();
  const json::Object *object = value->getAsObject();
  if (!object)
    return createStringError("expects a JSON object");
  RecordedCall call;
  if (std::optional<StringRef> name = object->getString("call"))
    call.name = name->str();
  else
    return createStringError("expects field 'call' with a name");
  int64_t instruction = -1, address = 0, bytes = 0;
  for (auto [field, target] :
       {std::pair<StringRef, int64_t *>{"rank", &call.rank},
        {"instruction", &instruction},
        {"stream", &call.stream},
        {"event", &call.event},
        {"graph", &call.graph},
        {"executable", &call.executable},
        {"comm", &call.comm},
        {"address", &address},
        {"bytes", &bytes},
        {"count", &call.count},
        {"reduction", &call.reduction}}) {
    const json::Value *found = object->get(field);
    std::optional<int64_t> number =
        found ? found->getAsInteger() : std::optional<int64_t>(*target);
    if (!number || (*number < 0 && field != "instruction"))
      return createStringError(
          formatv("field '{0}' must be a number from 0 on", field));
    *target = *number;
  }
  call.allocation = {static_cast<uint64_t>(address),
                     static_cast<uint64_t>(bytes)};
  if (instruction >= 0)
    call.instruction = instruction;
  for (auto [field, target] :
       {std::pair<StringRef, std::string *>{"description", &call.description},
        {"kernel", &call.kernel},
        {"result", &call.result},
        {"problem", &call.problem}})
    if (std::optional<StringRef> found = object->getString(field))
      *target = found->str();
  for (auto [field, target] :
       {std::pair<StringRef, std::vector<CallRange> *>{"reads", &call.reads},
        {"writes", &call.writes}})
    if (!readRanges(*object, field, *target))
      return createStringError(formatv(
          "field '{0}' must be a list of pairs of address and bytes", field));
  return call;
}

Expected<std::vector<RecordedCall>> regather::parseCalls(StringRef text) {
  std::vector<RecordedCall> calls;
  for (int64_t line = 1; !text.empty(); ++line) {
    auto [first, rest] = text.split('\n');
    text = rest;
    if (first.trim().empty())
      continue;
    Expected<RecordedCall> call = readCall(first);
    if (!call)
      return createStringError(
          formatv("line {0}: {1}", line, toString(call.takeError())));
    call->line = line;
    calls.push_back(std::move(*call));
  }
  return calls;
}
