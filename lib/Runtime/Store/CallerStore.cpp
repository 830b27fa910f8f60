//===- CallerStore.cpp - A store of the caller ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallerStore.h"

#include "regather/Runtime/Runtime.h"

#include <algorithm>
#include <cstdio>
#include <thread>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

static constexpr const char *kFailed = "failed";

CallerStore::Clock::time_point CallerStore::getEnd(double fromNow) const {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(fromNow));
}

std::string CallerStore::getSeconds() const {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", seconds);
  return text;
}

/// "rank 2" or "ranks 1, 2".
static std::string listRanks(const std::vector<int32_t> &ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i)
    text += (i ? ", " : "") + std::to_string(ranks[i]);
  return text;
}

static std::string getKey(const std::string &key, int32_t rank) {
  return key + '/' + std::to_string(rank);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Failure CallerStore::set(const std::string &key, const std::string &value) {
  std::lock_guard<std::mutex> lock(mutex);
  if (table.set(table.context, key.c_str(), value.data(),
                int64_t(value.size())) == 0)
    return Failure();
  return Failure(std::string("the store of the job fails: ") +
                 table.error(table.context));
}

Failure CallerStore::read(const std::string &key, std::string &value,
                          bool &isThere) {
  constexpr size_t kUsualBytes = 4096;
  std::lock_guard<std::mutex> lock(mutex);
  value.resize(kUsualBytes);
  int64_t bytes = -1;
  for (;;) {
    if (table.get(table.context, key.c_str(), value.data(),
                  int64_t(value.size()), &bytes) != 0)
      return Failure(std::string("the store of the job fails: ") +
                     table.error(table.context));
    isThere = bytes >= 0;
    bool isWhole = bytes <= int64_t(value.size());
    value.resize(size_t(std::max<int64_t>(bytes, 0)));
    if (isWhole)
      return Failure();
  }
}

Failure CallerStore::await(const std::string &key, Clock::time_point end,
                           std::string &value, bool &isThere) {
  constexpr std::chrono::milliseconds kLongestPause(50);
  for (std::chrono::milliseconds pause(1);;
       pause = std::min(2 * pause, kLongestPause)) {
    if (Failure failure = read(key, value, isThere))
      return failure;
    if (isThere || Clock::now() >= end)
      return Failure();
    if (std::string dead = describeDead(); !dead.empty())
      return Failure(dead);
    std::this_thread::sleep_for(pause);
  }
}

Result<std::string> CallerStore::get(const std::string &key, int32_t owner) {
  std::string value;
  bool isThere = false;
  if (Failure failure = await(key, getEnd(seconds), value, isThere))
    return failure;
  if (isThere)
    return value;
  return Failure("rank " + std::to_string(owner) + " has not set '" + key +
                 "' within " + getSeconds() + " seconds");
}

//===----------------------------------------------------------------------===//
// All ranks
//===----------------------------------------------------------------------===//

/// On rank 0: waits for the others, and compares what they have.
Failure CallerStore::collect(const std::string &key, const std::string &name,
                             const std::string &value) {
  std::vector<int32_t> missing, different;
  Clock::time_point end = getEnd(seconds);
  for (int32_t rank = 1; rank < table.ranks; ++rank) {
    std::string other;
    bool isThere = false;
    if (Failure failure = await(getKey(key, rank), end, other, isThere))
      return failure;
    if (!isThere)
      missing.push_back(rank);
    else if (other != value)
      different.push_back(rank);
  }
  if (!missing.empty())
    return Failure(listRanks(missing) +
                   (missing.size() == 1 ? " has" : " have") + " not come to '" +
                   name + "' within " + getSeconds() + " seconds");
  if (!different.empty())
    return Failure("rank 0 and " + listRanks(different) + " differ in " + name,
                   RG_ERROR_MISMATCH);
  return Failure();
}

Failure CallerStore::agree(const std::string &name, const std::string &value) {
  std::string key = "barrier/" + std::to_string(numBarriers++);
  if (table.rank == 0) {
    Failure failure = collect(key, name, value);
    if (failure)
      tellFailure(failure.getMessage());
    return failure ? failure : set(key, "");
  }
  if (Failure failure = set(getKey(key, table.rank), value))
    return failure;
  // Rank 0 says who is missing, a little later.
  constexpr double kPatience = 5;
  std::string done;
  bool isThere = false;
  Failure failure = await(key, getEnd(seconds + kPatience), done, isThere);
  if (failure || isThere)
    return failure;
  return Failure("rank 0 has not come to '" + name + "' within " +
                 getSeconds() + " seconds");
}

Failure CallerStore::callRoll(const std::string &name,
                              const std::vector<int32_t> &group,
                              double rollSeconds) {
  std::string key = "roll/" + name;
  if (Failure failure = set(getKey(key, table.rank), ""))
    return failure;
  Clock::time_point end = getEnd(rollSeconds);
  std::vector<int32_t> missing;
  for (int32_t rank : group) {
    std::string value;
    bool isThere = false;
    if (Failure failure = await(getKey(key, rank), end, value, isThere))
      return failure;
    if (!isThere)
      missing.push_back(rank);
  }
  if (missing.empty())
    return Failure();
  return Failure(listRanks(missing) + (missing.size() == 1 ? " does" : " do") +
                 " not answer");
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

void CallerStore::tellFailure(const std::string &reason) {
  std::string text;
  bool isThere = false;
  // The first one counts. If the store fails, nobody can be told.
  if (read(kFailed, text, isThere) || isThere)
    return;
  (void)set(kFailed, "rank " + std::to_string(table.rank) + ": " + reason);
}

std::string CallerStore::describeDead() {
  std::string text;
  bool isThere = false;
  if (Failure failure = read(kFailed, text, isThere))
    return failure.getMessage();
  bool isOwn = text.rfind("rank " + std::to_string(table.rank) + ": ", 0) == 0;
  return isThere && !isOwn ? text : "";
}
