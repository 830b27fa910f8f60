//===- RandomTest.cpp - Random programs, step by step ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares the simulator with one that knows all ranks, no classes, and lets
// time pass in small steps.
//
//===----------------------------------------------------------------------===//

#include "../OneRankClass.h"
#include "../TimedGraphBuilder.h"

#include "regather/Analysis/Simulator/Simulator.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <functional>
#include <map>
#include <random>

using namespace regather;

namespace {
struct World {
  std::vector<int64_t> mesh;
  std::vector<std::vector<uint32_t>> axes;
  std::function<uint32_t(uint32_t, llvm::ArrayRef<int64_t>)> place;
  SimulationOptions options;

  /// The first rank of the group of `rank`: its name.
  int64_t getGroup(uint32_t stream, int64_t rank) const {
    std::vector<int64_t> position;
    int64_t rest = rank, name = 0, stride = 1;
    for (size_t i = mesh.size(); i-- > 0; rest /= mesh[i], stride *= mesh[i])
      if (std::find(axes[stream].begin(), axes[stream].end(), i) ==
          axes[stream].end())
        name += rest % mesh[i] * stride;
    return name;
  }
};

/// All ranks, in steps of `tick` seconds.
class SteppedSimulation {
public:
  SteppedSimulation(const TimedGraph &graph, const std::vector<uint32_t> &order,
                    const World &world, double tick)
      : graph(graph), order(order), world(world), tick(tick) {
    for (int64_t size : world.mesh)
      numRanks *= size;
    begin.assign(numRanks, std::vector<double>(graph.ops.size(), -1));
    end = begin;
    place.assign(numRanks, 0);
    for (uint32_t stream = 0; stream != graph.streams.size(); ++stream)
      for (int64_t rank = 0; rank != numRanks; ++rank)
        members[{stream, world.getGroup(stream, rank)}].push_back(rank);
  }

  void run() {
    for (int64_t step = 0;; ++step) {
      now = static_cast<double>(step) * tick;
      while (beginSomething()) {
      }
      if (!pass())
        return;
    }
  }

  int64_t numRanks = 1;
  /// By rank and operation.
  std::vector<std::vector<double>> begin, end;

private:
  struct Running {
    uint32_t op;
    std::vector<int64_t> ranks;
    double left;
  };

  bool isOver(int64_t rank, uint32_t op) const { return end[rank][op] >= 0; }
  bool isIssued(int64_t rank, uint32_t op) const {
    return std::find(order.begin(), order.begin() + place[rank], op) !=
           order.begin() + place[rank];
  }
  bool isComputing(int64_t rank) const {
    return std::any_of(running.begin(), running.end(), [&](const Running &r) {
      return graph.ops[r.op].kind == TimedOpKind::Compute &&
             r.ranks.front() == rank;
    });
  }
  double countInFlight(int64_t rank, uint32_t link) const {
    return std::count_if(running.begin(), running.end(), [&](const Running &r) {
      const TimedOp &op = graph.ops[r.op];
      return op.kind == TimedOpKind::Collective &&
             graph.streams[op.stream].link == link &&
             std::find(r.ranks.begin(), r.ranks.end(), rank) != r.ranks.end();
    });
  }

  void start(uint32_t op, std::vector<int64_t> ranks, double seconds) {
    for (int64_t rank : ranks)
      begin[rank][op] = now;
    if (seconds == 0)
      for (int64_t rank : ranks)
        end[rank][op] = now;
    else
      running.push_back({op, std::move(ranks), seconds});
  }

  bool beginSomething() {
    bool isChanged = false;
    for (int64_t rank = 0; rank != numRanks; ++rank)
      isChanged |= issue(rank);
    for (const auto &[name, ranks] : members)
      for (uint32_t op : order)
        isChanged |= beginCollective(op, name.first, ranks);
    return isChanged;
  }

  bool issue(int64_t rank) {
    if (place[rank] == order.size())
      return false;
    uint32_t number = order[place[rank]];
    const TimedOp &op = graph.ops[number];
    bool isFirst = begin[rank][number] < 0;
    if (op.kind == TimedOpKind::Compute && isFirst)
      start(number, {rank}, op.seconds);
    if (op.kind == TimedOpKind::Wait && isFirst)
      begin[rank][number] = now;
    if (op.kind == TimedOpKind::Wait && isOver(rank, op.collective))
      end[rank][number] = now;
    if (op.kind != TimedOpKind::Collective && !isOver(rank, number))
      return isFirst;
    ++place[rank];
    return true;
  }

  bool beginCollective(uint32_t number, uint32_t stream,
                       const std::vector<int64_t> &ranks) {
    const TimedOp &op = graph.ops[number];
    if (op.kind != TimedOpKind::Collective || op.stream != stream ||
        begin[ranks.front()][number] >= 0)
      return false;
    const std::vector<uint32_t> &conflicts = graph.streams[stream].conflicts;
    for (int64_t rank : ranks) {
      if (!isIssued(rank, number))
        return false;
      for (uint32_t other : order) {
        if (other == number)
          break;
        bool isBefore =
            graph.ops[other].kind == TimedOpKind::Collective &&
            (graph.ops[other].stream == stream ||
             (world.options.serializesConflicts &&
              std::find(conflicts.begin(), conflicts.end(),
                        graph.ops[other].stream) != conflicts.end()));
        if (isBefore && !isOver(rank, other))
          return false;
      }
    }
    start(number, ranks,
          world.options.groupSeconds(number, world.place(stream, ranks)));
    return true;
  }

  /// One step; false if nothing runs.
  bool pass() {
    std::vector<double> speeds;
    for (const Running &activity : running) {
      const TimedOp &op = graph.ops[activity.op];
      double slowdown = 1;
      for (int64_t rank : activity.ranks) {
        double factor = 1;
        if (op.kind == TimedOpKind::Compute) {
          for (uint32_t link = 0; link != graph.links.size(); ++link)
            if (countInFlight(rank, link) > 0)
              factor = std::max(factor, graph.links[link].computeSlowdown);
        } else {
          uint32_t link = graph.streams[op.stream].link;
          if (world.options.sharesLinks)
            factor *= countInFlight(rank, link);
          if (isComputing(rank))
            factor *= graph.links[link].collectiveSlowdown;
        }
        slowdown = std::max(slowdown, factor);
      }
      speeds.push_back(1 / slowdown);
    }
    for (size_t i = running.size(); i-- > 0;) {
      running[i].left -= tick * speeds[i];
      if (running[i].left > tick * 1e-6)
        continue;
      for (int64_t rank : running[i].ranks)
        end[rank][running[i].op] = now + tick;
      running.erase(running.begin() + i);
    }
    return !speeds.empty();
  }

  const TimedGraph &graph;
  const std::vector<uint32_t> &order;
  const World &world;
  double tick;
  double now = 0;
  std::vector<size_t> place;
  std::map<std::pair<uint32_t, int64_t>, std::vector<int64_t>> members;
  std::vector<Running> running;
};
} // namespace

/// A graph of `size` operations or a few more; all seconds are whole.
static TimedGraph makeProgram(std::mt19937 &random, uint32_t numStreams,
                              uint32_t size) {
  auto draw = [&](uint32_t below) { return random() % below; };
  ProgramBuilder builder(numStreams);
  builder.graph.links.push_back({"network"});
  for (TimedStream &stream : builder.graph.streams)
    stream.link = draw(2);
  for (uint32_t i = 1; i < numStreams; ++i)
    if (draw(3) == 0)
      builder.conflict(i - 1, i);
  std::vector<uint32_t> inFlight;
  while (builder.graph.ops.size() < size) {
    switch (draw(3)) {
    case 0:
      inFlight.push_back(builder.collective(draw(6), {}, draw(numStreams)));
      break;
    case 1:
      builder.compute(draw(6));
      break;
    default:
      if (inFlight.empty())
        break;
      std::swap(inFlight[draw(inFlight.size())], inFlight.back());
      builder.wait(inFlight.back());
      inFlight.pop_back();
    }
  }
  return builder.graph;
}

static World makeWorld(std::mt19937 &random, const TimedGraph &graph) {
  World world;
  world.mesh = {static_cast<int64_t>(1 + random() % 3),
                static_cast<int64_t>(1 + random() % 4)};
  const std::vector<uint32_t> choices[] = {{0}, {1}, {0, 1}};
  for (size_t i = 0; i != graph.streams.size(); ++i)
    world.axes.push_back(choices[random() % 3]);
  // Nodes of three ranks.
  world.place = [](uint32_t, llvm::ArrayRef<int64_t> members) -> uint32_t {
    return members.back() / 3 - members.front() / 3;
  };
  world.options.serializesConflicts = random() % 2;
  world.options.sharesLinks = random() % 2;
  return world;
}

/// Compares all times of all ranks; returns the number of classes.
static size_t compare(const TimedGraph &graph, World &world, double tick,
                      double tolerance) {
  world.options.groupSeconds = [&](uint32_t op, uint32_t placement) {
    return graph.ops[op].seconds * (1 + placement);
  };
  std::vector<uint32_t> order = graph.getStepOrder();
  RankClasses classes = findRankClasses(world.mesh, world.axes, world.place);
  SimulationResult result = simulate(graph, order, classes, world.options);
  SteppedSimulation expected(graph, order, world, tick);
  expected.run();
  // Each rank does what those of some class do.
  for (int64_t rank = 0; rank != expected.numRanks; ++rank) {
    bool isFound = false;
    for (const RankTimeline &times : result.ranks) {
      bool isEqual = true;
      for (uint32_t op = 0; op != graph.ops.size(); ++op)
        isEqual &=
            std::abs(times.begin[op] - expected.begin[rank][op]) <= tolerance &&
            std::abs(times.end[op] - expected.end[rank][op]) <= tolerance;
      isFound |= isEqual;
    }
    EXPECT_TRUE(isFound) << "rank " << rank;
  }
  for (const auto &[rankClass, times] : llvm::zip(classes.ranks, result.ranks))
    for (uint32_t op = 0; op != graph.ops.size(); ++op) {
      EXPECT_NEAR(times.begin[op], expected.begin[rankClass.firstRank][op],
                  tolerance);
      EXPECT_NEAR(times.end[op], expected.end[rankClass.firstRank][op],
                  tolerance);
    }
  return classes.ranks.size();
}

TEST(SimulatorRandomTest, ExactWithoutContention) {
  size_t numFolded = 0, numApart = 0;
  for (unsigned seed = 0; seed != 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    TimedGraph graph = makeProgram(random, 1 + seed % 3, 5 + seed % 30);
    World world = makeWorld(random, graph);
    world.options.sharesLinks = false;
    size_t numClasses = compare(graph, world, /*tick=*/1, /*tolerance=*/0);
    numFolded += numClasses < size_t(world.mesh[0] * world.mesh[1]);
    numApart += numClasses > 1;
    if (HasFailure())
      return;
  }
  EXPECT_GT(numFolded, 100u);
  EXPECT_GT(numApart, 20u);
}

TEST(SimulatorRandomTest, CloseWithContention) {
  for (unsigned seed = 0; seed != 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    TimedGraph graph = makeProgram(random, 1 + seed % 3, 5 + seed % 20);
    for (TimedLink &link : graph.links) {
      link.computeSlowdown = 1 + random() % 4 * 0.25;
      link.collectiveSlowdown = 1 + random() % 4 * 0.25;
    }
    World world = makeWorld(random, graph);
    double tick = 1.0 / 256;
    compare(graph, world, tick, 2 * tick * graph.ops.size());
    if (HasFailure())
      return;
  }
}

TEST(SimulatorRandomTest, EventsGrowLinearly) {
  for (uint32_t size : {1000u, 4000u, 16000u}) {
    std::mt19937 random(1);
    TimedGraph graph = makeProgram(random, 3, size);
    SimulationResult result =
        simulate(graph, graph.getStepOrder(), makeOneRankClass(3));
    EXPECT_LE(result.numEvents, graph.ops.size());
    EXPECT_GE(result.numEvents, graph.ops.size() / 4);
  }
}
