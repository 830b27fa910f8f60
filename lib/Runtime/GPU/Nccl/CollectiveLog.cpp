//===- CollectiveLog.cpp - The last collectives of a rank -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CollectiveLog.h"

#include "Communication/Collective.h"

#include <cstdio>
#include <map>

using namespace regather::runtime;

void CollectiveLog::beginStep() {
  std::lock_guard<std::mutex> lock(mutex);
  ++step;
  isInStep = true;
}

void CollectiveLog::endStep() {
  std::lock_guard<std::mutex> lock(mutex);
  isInStep = false;
}

void CollectiveLog::add(const CollectiveEntry &entry) {
  std::lock_guard<std::mutex> lock(mutex);
  if (entries.size() < capacity) {
    entries.push_back(entry);
    entries.back().step = step;
    return;
  }
  entries[first] = entry;
  entries[first].step = step;
  first = (first + 1) % capacity;
}

std::vector<CollectiveLog::State> CollectiveLog::getStates() const {
  std::vector<State> states(entries.size(), State::Done);
  if (!isInStep || !progress || entries.empty())
    return states;
  // A step that only launches graphs does what was captured in an earlier one.
  int64_t last = getEntry(entries.size() - 1).step;
  // A stream does its collectives in order: what comes before the last one that
  // has begun or is done is done.
  struct Seen {
    bool isBegun = false, isDone = false;
  };
  std::map<int32_t, Seen> streams;
  for (size_t i = entries.size(); i-- > 0;) {
    const CollectiveEntry &entry = getEntry(i);
    if (entry.step != last)
      continue;
    const StreamProgress &at = progress[entry.stream];
    Seen &seen = streams[entry.stream];
    bool wasBegun = seen.isBegun;
    seen.isDone |= wasBegun || at.done == entry.mark;
    seen.isBegun |= at.begun == entry.mark;
    if (!seen.isDone)
      states[i] = seen.isBegun ? State::Running : State::Enqueued;
  }
  return states;
}

static const char *getName(CollectiveLog::State state) {
  switch (state) {
  case CollectiveLog::State::Enqueued:
    return "enqueued";
  case CollectiveLog::State::Running:
    return "running";
  case CollectiveLog::State::Done:
    return "done";
  }
  return "";
}

static std::string getOperation(const CollectiveEntry &entry) {
  const char *text = entry.instruction->description;
  return text ? text
              : getKindName(static_cast<rg_kind>(entry.collective->kind));
}

std::string CollectiveLog::describe() const {
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<State> states = getStates();
  for (size_t i = 0; i < states.size(); ++i) {
    const CollectiveEntry &entry = getEntry(i);
    if (states[i] != State::Done)
      return "rank " + std::to_string(rank) + " " +
             (states[i] == State::Running ? "is in" : "has not begun") +
             " collective " + std::to_string(entry.sequence) + " of group " +
             formatList(*entry.group) + ": " + getOperation(entry);
  }
  return "rank " + std::to_string(rank) + " has no collective in flight";
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static std::string quote(const std::string &text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof(code), "\\u%04x", c);
      quoted += code;
      continue;
    }
    if (c == '"' || c == '\\')
      quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string CollectiveLog::getJson(const std::string &reason) const {
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<State> states = getStates();
  std::string text = "{\"rank\": " + std::to_string(rank) +
                     ", \"step\": " + std::to_string(step) +
                     ", \"reason\": " + quote(reason) + ", \"collectives\": [";
  for (size_t i = 0; i < states.size(); ++i) {
    const CollectiveEntry &entry = getEntry(i);
    text += i ? ",\n  {" : "\n  {";
    text += "\"step\": " + std::to_string(entry.step) +
            ", \"group\": " + formatList(*entry.group) +
            ", \"sequence\": " + std::to_string(entry.sequence) +
            ", \"kind\": " +
            quote(getKindName(static_cast<rg_kind>(entry.collective->kind))) +
            ", \"operation\": " + quote(getOperation(entry)) +
            ", \"tag\": " + std::to_string(entry.collective->tag) +
            ", \"bytes\": " + std::to_string(entry.bytes) +
            ", \"stream\": " + std::to_string(entry.stream) +
            ", \"state\": " + quote(getName(states[i])) + "}";
  }
  return text + "]}\n";
}

bool CollectiveLog::write(const std::string &path,
                          const std::string &reason) const {
  std::FILE *file = std::fopen(path.c_str(), "w");
  if (!file)
    return false;
  bool isGood = std::fputs(getJson(reason).c_str(), file) >= 0;
  return std::fclose(file) == 0 && isGood;
}
