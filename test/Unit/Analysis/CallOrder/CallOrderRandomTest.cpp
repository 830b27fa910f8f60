//===- CallOrderRandomTest.cpp - Races in random sequences of calls -------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallSequence.h"

#include "gtest/gtest.h"

#include <map>
#include <random>

using namespace regather;
using namespace regather::test;

//===----------------------------------------------------------------------===//
// The reference
//===----------------------------------------------------------------------===//

/// What orders calls, as a graph: for each call, all calls that come before it.
/// Quadratic, and shares nothing with the checker.
static std::vector<std::vector<bool>>
getPredecessors(const std::vector<RecordedCall> &calls) {
  std::vector<std::vector<bool>> before(calls.size(),
                                        std::vector<bool>(calls.size(), false));
  std::map<int64_t, size_t> lastOfStream, lastRecord;
  auto follow = [&](size_t call, size_t earlier) {
    before[call][earlier] = true;
    for (size_t i = 0; i != calls.size(); ++i)
      if (before[earlier][i])
        before[call][i] = true;
  };
  for (size_t i = 0; i != calls.size(); ++i) {
    const RecordedCall &call = calls[i];
    if (call.stream == 0)
      continue;
    if (auto it = lastOfStream.find(call.stream); it != lastOfStream.end())
      follow(i, it->second);
    lastOfStream[call.stream] = i;
    if (call.name == "cuEventRecord")
      lastRecord[call.event] = i;
    if (call.name == "cuStreamWaitEvent")
      follow(i, lastRecord.at(call.event));
  }
  return before;
}

static bool overlap(const std::vector<CallRange> &first,
                    const std::vector<CallRange> &second) {
  for (CallRange a : first)
    for (CallRange b : second)
      if (a.address < b.address + b.bytes && b.address < a.address + a.bytes)
        return true;
  return false;
}

static bool conflict(const RecordedCall &a, const RecordedCall &b) {
  return overlap(a.writes, b.writes) || overlap(a.reads, b.writes) ||
         overlap(a.writes, b.reads);
}

static bool hasRace(const std::vector<RecordedCall> &calls) {
  std::vector<std::vector<bool>> before = getPredecessors(calls);
  for (size_t i = 0; i != calls.size(); ++i)
    for (size_t j = 0; j != i; ++j)
      if (!before[i][j] && conflict(calls[i], calls[j]))
        return true;
  return false;
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

namespace {
class RandomSequence {
public:
  explicit RandomSequence(uint64_t seed) : random(seed) {}

  /// Launches on several streams, with events wherever they are needed.
  CallSequence make();

private:
  int64_t pick(int64_t count) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(count));
  }
  CallRange pickRange() {
    auto begin = static_cast<uint64_t>(pick(24)) * 8;
    return {begin, static_cast<uint64_t>(1 + pick(6)) * 8};
  }
  void order(CallSequence &calls, const RecordedCall &next);

  std::mt19937_64 random;
  int64_t numEvents = 0;
};
} // namespace

/// Makes `next` come after everything that it conflicts with, from the latest
/// or from the earliest on: the latter leaves waits that others stand for.
void RandomSequence::order(CallSequence &calls, const RecordedCall &next) {
  bool latestFirst = pick(2) == 0;
  for (;;) {
    CallSequence trial = calls;
    trial.calls.push_back(next);
    std::vector<std::vector<bool>> before = getPredecessors(trial.calls);
    size_t last = trial.calls.size() - 1;
    size_t missing = last;
    for (size_t i = 0; i != last; ++i)
      if (!before[last][i] && conflict(trial.calls[i], next) &&
          (latestFirst || missing == last))
        missing = i;
    if (missing == last)
      return;
    calls.record(++numEvents, calls.calls[missing].stream);
    calls.wait(next.stream, numEvents);
  }
}

CallSequence RandomSequence::make() {
  CallSequence calls;
  calls.allocate();
  // Every byte is written before it is read, on a stream that all wait for.
  calls.launch(1, {}, {{0, 1024}});
  calls.record(++numEvents, 1);
  for (int64_t stream = 2; stream <= 4; ++stream)
    calls.wait(stream, numEvents);
  int64_t size = 5 + pick(25);
  for (int64_t i = 0; i != size; ++i) {
    CallSequence single;
    RecordedCall next =
        single.launch(1 + pick(4), {pickRange(), pickRange()}, {pickRange()});
    order(calls, next);
    next.line = static_cast<int64_t>(calls.calls.size()) + 1;
    calls.calls.push_back(next);
  }
  return calls;
}

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

/// Takes the calls as a graph that stream 1 launches twice.
static CallSequence capture(const CallSequence &calls) {
  CallSequence captured;
  captured.calls.push_back(calls.calls.front());
  captured.beginCapture(1);
  std::vector<RecordedCall> body(calls.calls.begin() + 1, calls.calls.end());
  captured.calls.insert(captured.calls.end(), body.begin(), body.end());
  for (int64_t stream = 2; stream <= 4; ++stream) {
    captured.record(1000 + stream, stream);
    captured.wait(1, 1000 + stream);
  }
  captured.endCapture(1, 1);
  captured.launchGraph(1, 1);
  captured.launchGraph(1, 1);
  return captured;
}

// A correct sequence stays correct without any one of its waits exactly if
// something else orders what it did; as a graph, too.
TEST(CallOrderRandomTest, MissingWaits) {
  int64_t numRaces = 0, numHarmless = 0;
  for (uint64_t seed = 0; seed != 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    CallSequence calls = RandomSequence(seed).make();
    ASSERT_FALSE(hasRace(calls.calls));
    ASSERT_EQ(calls.check(), "");
    ASSERT_EQ(capture(calls).check(), "");
    // Those at the beginning let the streams take part.
    for (size_t i = 6; i != calls.calls.size(); ++i) {
      if (calls.calls[i].name != "cuStreamWaitEvent")
        continue;
      CallSequence without = calls;
      without.calls.erase(without.calls.begin() + static_cast<ptrdiff_t>(i));
      bool isRace = hasRace(without.calls);
      ++(isRace ? numRaces : numHarmless);
      EXPECT_EQ(!without.check().empty(), isRace) << "without call " << i;
      EXPECT_EQ(!capture(without).check().empty(), isRace)
          << "captured, without call " << i;
    }
  }
  EXPECT_GT(numRaces, 100);
  EXPECT_GT(numHarmless, 10);
}
