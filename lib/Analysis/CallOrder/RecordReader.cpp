//===- RecordReader.cpp - Read the record of calls ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/CallOrder.h"
#include "regather/Support/LLVM/ParseJson.h"

#include "llvm/Support/FormatVariadic.h"

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

/// Numbers are keys of tables, which have no room for the last ones.
static constexpr int64_t kLargest = int64_t(1) << 62;

/// Reads one call; an error without the line.
static Expected<RecordedCall> readCall(StringRef text) {
  Expected<json::Value> value = parseJson(text);
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
        {"type", &call.type},
        {"peer", &call.peer},
        {"reduction", &call.reduction}}) {
    const json::Value *found = object->get(field);
    std::optional<int64_t> number =
        found ? found->getAsInteger() : std::optional<int64_t>(*target);
    if (!number || (*number < 0 && field != "instruction") ||
        *number > kLargest)
      return createStringError(
          formatv("field '{0}' must be a number from 0 to 2^62", field));
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
        {"writes", &call.writes},
        {"scratch", &call.scratch}})
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
