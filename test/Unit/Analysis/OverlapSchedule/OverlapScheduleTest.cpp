//===- OverlapScheduleTest.cpp - Orders that hide communication -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../OneRankClass.h"
#include "OverlapGraphs.h"

#include "regather/Analysis/OverlapSchedule/OverlapSchedule.h"
#include "regather/Analysis/Simulator/Simulator.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <map>

using namespace llvm;
using namespace regather;

namespace {
/// Finds the shortest time in which a graph can run, within memory, by going
/// through all sets of operations that can have been issued. Memory depends on
/// the set alone; of two ways to get there, one that is later in everything is
/// left out.
class ExhaustiveSearch {
public:
  ExhaustiveSearch(const TimedGraph &graph, int64_t limit)
      : graph(graph), limit(limit) {}

  double run() {
    size_t size = graph.ops.size();
    std::map<uint32_t, std::vector<State>> layer;
    layer[0] = {State{0, std::vector<double>(graph.streams.size()),
                      std::vector<double>(size)}};
    for (size_t i = 0; i != size; ++i) {
      std::map<uint32_t, std::vector<State>> next;
      for (const auto &[issued, states] : layer)
        for (uint32_t op = 0; op != size; ++op)
          if (canIssue(issued, op))
            for (const State &state : states)
              insert(next[issued | 1U << op], issue(state, op));
      layer = std::move(next);
    }
    double best = 1e9;
    for (const auto &[issued, states] : layer)
      for (const State &state : states)
        best = std::min(best, state.now);
    return best;
  }

private:
  struct State {
    double now = 0;
    std::vector<double> streamFree;
    std::vector<double> ends;
  };

  int64_t getLive(uint32_t issued) const {
    int64_t bytes = 0;
    for (const auto &[number, buffer] : enumerate(graph.buffers)) {
      if (!(issued >> buffer.writer & 1))
        continue;
      bool isUsed = buffer.isLiveOut;
      for (uint32_t user : graph.users[number])
        isUsed |= !(issued >> user & 1);
      bytes += isUsed ? buffer.bytes : 0;
    }
    return bytes;
  }
  bool canIssue(uint32_t issued, uint32_t op) const {
    if (issued >> op & 1)
      return false;
    for (uint32_t predecessor : graph.predecessors[op])
      if (!(issued >> predecessor & 1))
        return false;
    int64_t written = 0;
    for (const TimedBuffer &buffer : graph.buffers)
      written += buffer.writer == op ? buffer.bytes : 0;
    return getLive(issued) + written <= limit;
  }
  State issue(State state, uint32_t number) const {
    const TimedOp &op = graph.ops[number];
    if (op.kind == TimedOpKind::Compute) {
      state.now += op.seconds;
    } else if (op.kind == TimedOpKind::Wait) {
      state.now = std::max(state.now, state.ends[op.collective]);
      state.ends[op.collective] = 0;
    } else {
      double &free = state.streamFree[op.stream];
      free = std::max(free, state.now) + op.seconds;
      state.ends[number] = free;
    }
    // What is past makes no difference.
    for (std::vector<double> *times : {&state.streamFree, &state.ends})
      for (double &time : *times)
        time = time <= state.now ? 0 : time;
    return state;
  }
  static bool isLater(const State &state, const State &than) {
    if (state.now < than.now)
      return false;
    auto isLaterIn = [&](auto member) {
      for (auto [mine, other] : zip(state.*member, than.*member))
        if (std::max(mine, state.now) < other)
          return false;
      return true;
    };
    return isLaterIn(&State::streamFree) && isLaterIn(&State::ends);
  }
  static void insert(std::vector<State> &states, State state) {
    if (any_of(states, [&](State &other) { return isLater(state, other); }))
      return;
    erase_if(states, [&](State &other) { return isLater(other, state); });
    states.push_back(std::move(state));
  }

  const TimedGraph &graph;
  int64_t limit;
};

/// Checks everything that must hold of a schedule.
void verifySchedule(const TimedGraph &graph, const OverlapSchedule &schedule) {
  EXPECT_FALSE(findOrderViolation(graph, schedule.order).has_value());
  EXPECT_EQ(computeMemoryCurve(graph, schedule.order).peakBytes,
            schedule.score.peakBytes);
  EXPECT_LE(schedule.score.peakBytes, schedule.memoryLimit);
  // Whatever the search has found out step by step.
  SimulationResult result =
      simulate(graph, schedule.order, makeOneRankClass(graph.streams.size()));
  EXPECT_EQ(result.seconds, schedule.score.seconds);
  EXPECT_EQ(result.ranks.front().exposedSeconds, schedule.score.exposedSeconds);
  EXPECT_GE(schedule.score.seconds, schedule.lowerBound);
  EXPECT_GE(schedule.lowerBound, schedule.bounds.getSeconds());
}
} // namespace

/// The peak of the order of the step, and some more.
static OverlapOptions makeOptions(const TimedGraph &graph, int64_t more = 0) {
  OverlapOptions options;
  options.memoryLimit =
      computeMemoryCurve(graph, graph.getStepOrder()).peakBytes + more;
  options.inFlight = 0;
  return options;
}

static OverlapSchedule schedule(const TimedGraph &graph,
                                const OverlapOptions &options) {
  Result<OverlapSchedule> result = scheduleOverlap(graph, options);
  EXPECT_TRUE(bool(result)) << result.getMessage();
  if (!result)
    return OverlapSchedule();
  verifySchedule(graph, *result);
  return std::move(*result);
}

static std::string getError(const TimedGraph &graph,
                            const OverlapOptions &options = OverlapOptions()) {
  Result<OverlapSchedule> result = scheduleOverlap(graph, options);
  return result ? "" : result.getMessage();
}

TEST(OverlapScheduleTest, isCloseToExhaustiveSearch) {
  std::mt19937 random(1);
  double sumOfGaps = 0;
  constexpr int kPrograms = 120;
  for (int i = 0; i != kPrograms; ++i) {
    TimedGraph graph = makeRandomProgram(8 + random() % 7, random);
    OverlapOptions options = makeOptions(graph, random() % 6);
    OverlapSchedule found = schedule(graph, options);
    double best = ExhaustiveSearch(graph, *options.memoryLimit).run();
    EXPECT_GE(found.score.seconds, best);
    EXPECT_LE(found.lowerBound, best);
    sumOfGaps += found.score.seconds / best - 1;
  }
  EXPECT_LE(sumOfGaps / kPrograms, 0.01);
}

// Whatever collectives over three links and computation hold up each other for.
TEST(OverlapScheduleTest, boundsAreBelowTheOptimum) {
  std::mt19937 random(4);
  double sumOfGaps = 0;
  constexpr int kPrograms = 80;
  for (int i = 0; i != kPrograms; ++i) {
    TimedGraph graph =
        makeRandomProgram(6 + random() % 7, random, /*maxStreams=*/3);
    OverlapOptions options = makeOptions(graph, 64);
    OverlapSchedule found = schedule(graph, options);
    double best = ExhaustiveSearch(graph, *options.memoryLimit).run();
    double bound = computeLowerBound(graph);
    EXPECT_LE(bound, best);
    EXPECT_LE(found.lowerBound, bound);
    sumOfGaps += found.score.seconds / best - 1;
  }
  EXPECT_LE(sumOfGaps / kPrograms, 0.01);
}

// Each of three collectives is on a path of its own, and so is each product;
// the additions need all of them.
TEST(OverlapScheduleTest, countsWhatMeetsInTheBound) {
  ScheduleProgramBuilder builder;
  uint32_t last = builder.compute(1);
  for (int layer = 0; layer != 4; ++layer) {
    std::vector<uint32_t> sums;
    for (int i = 0; i != 3; ++i)
      sums.push_back(builder.wait(builder.start(5, builder.compute(1, last))));
    last = builder.compute(2, sums);
  }
  OverlapSchedule found = schedule(builder.build(), OverlapOptions());
  EXPECT_EQ(found.bounds.getSeconds() * 1024, 60);
  EXPECT_EQ(found.lowerBound * 1024, 1 + 4 * (1 + 3 * 5 + 2));
  EXPECT_EQ(found.score.seconds, found.lowerBound);
}

// Beyond some hours, a short time added to the others is rounded away.
TEST(OverlapScheduleTest, boundsStepsThatTakeHours) {
  ScheduleProgramBuilder builder;
  constexpr double kHour = 3600 * 1024;
  constexpr double kShort = 3 * 0x1p-30;
  uint32_t last = builder.compute(kHour);
  for (int i = 0; i != 11; ++i)
    last = builder.compute(kHour, last);
  last = builder.compute(kShort, last);
  last = builder.wait(builder.start(kShort, last));
  TimedGraph graph = builder.build();
  EXPECT_NEAR(computeLowerBound(graph), 12 * 3600, 1e-6);
}

// Two collectives that run beside a layer each are done in time; the third one
// cannot start before, nor be put off until the end.
TEST(OverlapScheduleTest, doesNotPutOffReductionsUntilTheEnd) {
  ScheduleProgramBuilder builder(2);
  uint32_t head = builder.compute(1);
  uint32_t product = builder.compute(3, head);
  uint32_t last = head;
  for (int layer = 0; layer != 6; ++layer) {
    uint32_t wait = builder.wait(builder.start(4, last, 0, /*stream=*/1));
    last = builder.compute(2, wait);
  }
  builder.wait(builder.start(12, product));
  builder.wait(builder.start(8, last));
  OverlapSchedule found = schedule(builder.build(), OverlapOptions());
  EXPECT_EQ(found.score.seconds * 1024, 1 + 6 * (4 + 2) + 8);
  EXPECT_EQ(found.score.seconds, found.lowerBound);
}

TEST(OverlapScheduleTest, scoresContentionAsTheSimulatorDoes) {
  std::mt19937 random(2);
  for (int i = 0; i != 40; ++i) {
    TimedGraph graph = makeRandomProgram(10 + random() % 40, random);
    for (TimedStream &stream : graph.streams)
      stream.link = 0;
    graph.links[0].computeSlowdown = 1.25;
    graph.links[0].collectiveSlowdown = 1.5;
    OverlapOptions options = makeOptions(graph, 4);
    options.minEffort = 20000;
    schedule(graph, options);
  }
}

TEST(OverlapScheduleTest, isDeterministic) {
  std::mt19937 random(3);
  TimedGraph graph = makeRandomProgram(400, random);
  OverlapOptions options = makeOptions(graph, 10);
  EXPECT_EQ(schedule(graph, options).order, schedule(graph, options).order);
}

/// Two layers: the second is gathered while the first is computed.
TEST(OverlapScheduleTest, gathersAheadAndReducesBehind) {
  ScheduleProgramBuilder builder;
  uint32_t first = builder.wait(builder.start(2, {}, 4));
  uint32_t a = builder.compute(8, {first});
  uint32_t start = builder.start(2, {}, 4);
  uint32_t b = builder.compute(8, {a, builder.wait(start)});
  uint32_t reduced = builder.wait(builder.start(6, {b}));
  builder.compute(1, {reduced});
  builder.compute(8, {b});
  TimedGraph graph = builder.build();
  OverlapSchedule found = schedule(graph, makeOptions(graph, 4));
  EXPECT_EQ(found.given.seconds, 35.0 / 1024);
  EXPECT_EQ(found.score.seconds, 27.0 / 1024);
  EXPECT_LT(llvm::find(found.order, start), llvm::find(found.order, a));
  // With no room for both layers, the second is gathered when the first is
  // done.
  found = schedule(graph, makeOptions(graph));
  EXPECT_EQ(found.score.seconds, 29.0 / 1024);
}

TEST(OverlapScheduleTest, keepsToTheInFlightLimit) {
  ScheduleProgramBuilder builder;
  builder.compute(20);
  for (int i = 0; i != 4; ++i)
    builder.compute(1, {builder.wait(builder.start(2))});
  TimedGraph graph = builder.build();
  auto countInFlight = [&](uint32_t limit) {
    OverlapOptions options = makeOptions(graph);
    options.inFlight = limit;
    int inFlight = 0, most = 0;
    for (uint32_t op : schedule(graph, options).order) {
      inFlight += graph.ops[op].kind == TimedOpKind::Collective;
      inFlight -= graph.ops[op].kind == TimedOpKind::Wait;
      most = std::max(most, inFlight);
    }
    return most;
  };
  EXPECT_GT(countInFlight(0), 2);
  EXPECT_EQ(countInFlight(2), 2);
  EXPECT_EQ(countInFlight(1), 1);
}

TEST(OverlapScheduleTest, keepsConflictingStreamsApart) {
  ScheduleProgramBuilder builder(2);
  uint32_t one = builder.start(4, {}, 0, 0);
  uint32_t other = builder.start(4, {}, 0, 1);
  uint32_t oneWait = builder.wait(one), otherWait = builder.wait(other);
  builder.compute(8);
  builder.compute(1, {oneWait, otherWait});
  TimedGraph graph = builder.build();
  graph.streams[0].conflicts = {1};
  graph.streams[1].conflicts = {0};
  auto areTogether = [&](ArrayRef<uint32_t> order) {
    auto place = [&](uint32_t op) { return llvm::find(order, op); };
    return place(one) < place(otherWait) && place(other) < place(oneWait);
  };
  OverlapOptions options = makeOptions(graph);
  EXPECT_FALSE(areTogether(schedule(graph, options).order));
  options.allowsConflicts = true;
  Result<OverlapSchedule> found = scheduleOverlap(graph, options);
  ASSERT_TRUE(bool(found));
  EXPECT_TRUE(areTogether(found->order));
}

TEST(OverlapScheduleTest, reordersWhatTakesTooMuchMemory) {
  // All is gathered at once, but can be gathered one after the other.
  ScheduleProgramBuilder builder;
  std::vector<uint32_t> starts, waits;
  for (int i = 0; i != 3; ++i)
    starts.push_back(builder.start(1, {}, 10));
  for (uint32_t start : starts)
    waits.push_back(builder.wait(start));
  for (uint32_t wait : waits)
    builder.compute(2, {wait});
  TimedGraph graph = builder.build();
  OverlapOptions options;
  options.memoryLimit = 10;
  EXPECT_EQ(schedule(graph, options).score.peakBytes, 10);
  options.memoryLimit = 9;
  EXPECT_EQ(getError(graph, options),
            "a memory limit of 9 bytes is too low, the step needs at least 10");
}

TEST(OverlapScheduleTest, needsNoMoreMemoryInAnotherTextualOrder) {
  // Of 10 bytes, `shrink` leaves 6, but only as the last one to read them.
  for (bool shrinksLate : {false, true}) {
    ScheduleProgramBuilder builder;
    uint32_t large = builder.compute(1, {}, 10);
    uint32_t kept = builder.compute(1, {large}, 2), shrink = 0;
    if (!shrinksLate)
      shrink = builder.compute(1, {large}, 6);
    uint32_t other =
        builder.compute(1, builder.wait(builder.start(1, {}, 10)), 1);
    if (shrinksLate)
      shrink = builder.compute(1, {large}, 6);
    builder.compute(1, {shrink});
    builder.keep(kept);
    builder.keep(other);
    OverlapOptions options;
    options.memoryLimit = 19;
    EXPECT_FALSE(schedule(builder.build(), options).order.empty());
  }
}

// What an error says that every order takes is indeed too little for none.
TEST(OverlapScheduleTest, statesALowerBoundOnMemory) {
  std::mt19937 random(7);
  constexpr int kPrograms = 100;
  int numTight = 0;
  for (int i = 0; i != kPrograms; ++i) {
    TimedGraph graph = makeRandomProgram(8 + random() % 7, random);
    OverlapOptions options;
    options.memoryLimit = -1;
    std::string error = getError(graph, options);
    StringRef text = error;
    int64_t bound = 0;
    text = text.split("needs at least ").second;
    ASSERT_FALSE(text.consumeInteger(10, bound)) << error;
    EXPECT_GE(ExhaustiveSearch(graph, bound - 1).run(), 1e9) << error;
    numTight += ExhaustiveSearch(graph, bound).run() < 1e9;
  }
  EXPECT_GE(numTight, kPrograms / 2);
}

TEST(OverlapScheduleTest, saysWhatItDoesNotKnow) {
  // Two results of 3 bytes, each made of 10: one after the other.
  ScheduleProgramBuilder builder;
  for (int i = 0; i != 2; ++i)
    builder.keep(builder.compute(1, builder.compute(1, {}, 10), 3));
  TimedGraph graph = builder.build();
  OverlapOptions options;
  options.memoryLimit = 14;
  EXPECT_EQ(getError(graph, options),
            "no order found keeps to a memory limit of 14 bytes: the best one "
            "takes 16, and the step needs at least 13");
  options.memoryLimit = 12;
  EXPECT_EQ(getError(graph, options),
            "a memory limit of 12 bytes is too low, the step needs at least "
            "13; the best order found takes 16");
}

TEST(OverlapScheduleTest, prefetchesByAFixedDistance) {
  ScheduleProgramBuilder builder;
  PrefetchPlan plan;
  std::vector<uint32_t> casts, waits, computed, reduceWaits;
  for (int i = 0; i != 3; ++i) {
    casts.push_back(builder.compute(1));
    plan.prefetched.push_back(builder.start(2, {casts.back()}));
    waits.push_back(builder.wait(plan.prefetched.back()));
    computed.push_back(builder.compute(4, {waits.back()}));
    plan.deferred.push_back(builder.start(2, {computed.back()}));
    reduceWaits.push_back(builder.wait(plan.deferred.back()));
  }
  TimedGraph graph = builder.build();
  Result<OverlapSchedule> found = schedulePrefetch(graph, plan);
  ASSERT_TRUE(bool(found));
  EXPECT_EQ(
      found->order,
      (std::vector<uint32_t>{
          casts[0], plan.prefetched[0], casts[1], plan.prefetched[1], waits[0],
          computed[0], plan.deferred[0], casts[2], plan.prefetched[2], waits[1],
          computed[1], reduceWaits[0], plan.deferred[1], waits[2], computed[2],
          reduceWaits[1], plan.deferred[2], reduceWaits[2]}));
  // Nothing is fetched ahead.
  plan = PrefetchPlan();
  found = schedulePrefetch(graph, plan);
  ASSERT_TRUE(bool(found));
  EXPECT_EQ(found->order, graph.getStepOrder());
}

TEST(OverlapScheduleTest, explainsWhatIsExposed) {
  auto explain = [](ScheduleProgramBuilder &builder, int64_t limit) {
    TimedGraph graph = builder.build();
    std::vector<ExposedWait> exposed =
        explainExposure(graph, graph.getStepOrder(), limit);
    EXPECT_EQ(exposed.size(), 1U);
    return exposed.front();
  };
  ScheduleProgramBuilder first;
  uint32_t wait = first.wait(first.start(4));
  first.compute(1, {wait});
  ExposedWait exposed = explain(first, 100);
  EXPECT_EQ(exposed.reason, ExposureReason::NotEnoughCompute);
  EXPECT_EQ(exposed.wait, wait);
  EXPECT_EQ(exposed.seconds, 4.0 / 1024);

  ScheduleProgramBuilder chain;
  uint32_t op = chain.compute(8);
  chain.compute(1, {chain.wait(chain.start(4, {op}))});
  exposed = explain(chain, 100);
  EXPECT_EQ(exposed.reason, ExposureReason::Dependency);
  EXPECT_EQ(exposed.culprit, op);

  ScheduleProgramBuilder memory;
  op = memory.compute(8, {}, 6);
  memory.compute(8, {op}, 3);
  memory.compute(1, {memory.wait(memory.start(4, {}, 4))});
  EXPECT_EQ(explain(memory, 12).reason, ExposureReason::MemoryLimit);

  ScheduleProgramBuilder busy;
  uint32_t other = busy.start(8);
  uint32_t start = busy.start(4);
  busy.compute(8);
  busy.wait(other);
  busy.compute(1, {busy.wait(start)});
  exposed = explain(busy, 100);
  EXPECT_EQ(exposed.reason, ExposureReason::StreamBusy);
  EXPECT_EQ(exposed.culprit, other);
}

TEST(OverlapScheduleTest, checksPrograms) {
  ScheduleProgramBuilder builder;
  uint32_t start = builder.start(1);
  builder.compute(1, {builder.wait(start)});
  const TimedGraph good = builder.build();
  EXPECT_EQ(getError(good), "");
  TimedGraph graph = good;
  graph.ops[0].seconds = -1;
  EXPECT_EQ(getError(graph),
            "operation 0 must take between 0 and 4096 s, got -1.00");
  graph = good;
  graph.ops[0].stream = 7;
  EXPECT_EQ(getError(graph), "collective 0 runs on stream 7, but there are 1");
  graph = good;
  graph.ops[1].collective = 2;
  EXPECT_EQ(getError(graph),
            "wait 1 must follow its collective, got operation 2");
  graph = good;
  graph.buffers[1].bytes = -5;
  EXPECT_EQ(getError(graph), "bytes of buffer 1 are out of range: -5");
  graph = good;
  graph.buffers[0].writer = 2;
  EXPECT_EQ(getError(graph),
            "buffer 0, written by operation 2, is used by operation 1");
}
