//===- CollectiveBucketsTest.cpp - Which collectives start as one ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buckets of random graphs are compared with the reachability of every pair of
// operations.
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Buckets/CollectiveBuckets.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace regather;

namespace {
struct Problem {
  DependencyGraph graph;
  std::vector<CollectiveOps> collectives;
  std::vector<CollectiveBucket> buckets;

  uint32_t addOp(const std::vector<uint32_t> &sources) {
    graph.addOp();
    for (uint32_t source : sources)
      graph.addSource(source);
    return graph.getNumOps() - 1;
  }
  /// Returns the wait.
  uint32_t addCollective(const std::vector<uint32_t> &sources) {
    uint32_t start = addOp(sources);
    uint32_t wait = addOp({start});
    collectives.push_back({start, wait});
    return wait;
  }
};
} // namespace

using Matrix = std::vector<std::vector<bool>>;

/// By operation: the one that stands for it.
static std::vector<uint32_t> getLeaders(const Problem &problem,
                                        const std::vector<BucketPart> &parts) {
  std::vector<uint32_t> leaders(problem.graph.getNumOps());
  std::iota(leaders.begin(), leaders.end(), 0);
  for (const BucketPart &part : parts)
    for (uint32_t member : part.members) {
      const CollectiveOps &first = problem.collectives[part.members.front()];
      leaders[problem.collectives[member].start] = first.start;
      leaders[problem.collectives[member].wait] = first.wait;
    }
  return leaders;
}

/// Which leaders depend on which.
static Matrix getReachability(const Problem &problem,
                              const std::vector<uint32_t> &leaders) {
  uint32_t n = problem.graph.getNumOps();
  Matrix reaches(n, std::vector<bool>(n));
  for (uint32_t op = 0; op != n; ++op)
    for (uint32_t i = problem.graph.begins[op];
         i != problem.graph.begins[op + 1]; ++i)
      reaches[leaders[problem.graph.sources[i]]][leaders[op]] = true;
  for (uint32_t via = 0; via != n; ++via)
    for (uint32_t from = 0; from != n; ++from)
      if (reaches[from][via])
        for (uint32_t to = 0; to != n; ++to)
          if (reaches[via][to])
            reaches[from][to] = true;
  return reaches;
}

static std::vector<BucketPart> cut(const Problem &problem) {
  return cutCyclicBuckets(problem.graph, problem.collectives, problem.buckets);
}

static std::vector<uint32_t> order(const Problem &problem,
                                   const std::vector<BucketPart> &parts,
                                   std::vector<bool> isEarly = {}) {
  isEarly.resize(problem.graph.getNumOps());
  return orderBuckets(problem.graph, problem.collectives, parts, isEarly);
}

static std::vector<std::vector<uint32_t>>
getMembers(const std::vector<BucketPart> &parts) {
  std::vector<std::vector<uint32_t>> members;
  for (const BucketPart &part : parts)
    members.push_back(part.members);
  return members;
}

using Members = std::vector<std::vector<uint32_t>>;

TEST(CollectiveBucketsTest, IndependentMembersStayTogether) {
  Problem problem;
  uint32_t first = problem.addCollective({});
  uint32_t use = problem.addOp({first});
  problem.addCollective({});
  problem.addOp({use, 4});
  problem.buckets = {{1, 0}};
  EXPECT_EQ(getMembers(cut(problem)), (Members{{1, 0}}));
  EXPECT_FALSE(cut(problem).front().cause);
}

TEST(CollectiveBucketsTest, MembersThatDependOnEachOtherAreCut) {
  Problem problem;
  uint32_t first = problem.addCollective({});
  problem.addCollective({problem.addOp({first})});
  problem.addCollective({});
  problem.buckets = {{0, 1, 2}};
  std::vector<BucketPart> parts = cut(problem);
  EXPECT_EQ(getMembers(parts), (Members{{0, 2}, {1}}));
  EXPECT_EQ(parts[0].cause, 0u);
  EXPECT_FALSE(parts[1].cause);
}

TEST(CollectiveBucketsTest, OneOfTwoBucketsThatCrossIsCut) {
  Problem problem;
  uint32_t a = problem.addCollective({});
  uint32_t b = problem.addCollective({});
  problem.addCollective({b});
  problem.addCollective({a});
  problem.buckets = {{0, 2}, {1, 3}};
  std::vector<BucketPart> parts = cut(problem);
  EXPECT_EQ(getMembers(parts), (Members{{0}, {1, 3}, {2}}));
  EXPECT_EQ(parts[0].cause, 1u);
}

TEST(CollectiveBucketsTest, BucketsBesideACircleStayWhole) {
  // The second bucket comes first and waits for the first one, which is cut.
  Problem problem;
  problem.addCollective({});
  uint32_t a = problem.addCollective({});
  problem.addCollective({a});
  problem.addCollective({a});
  problem.buckets = {{1, 2}, {0, 3}};
  Members parts = getMembers(cut(problem));
  std::sort(parts.begin(), parts.end());
  EXPECT_EQ(parts, (Members{{0, 3}, {1}, {2}}));
}

TEST(CollectiveBucketsTest, WaitsWithAnOperationBetweenThemAreCut) {
  // The second wait must follow an operation that reads the first one.
  Problem problem;
  uint32_t first = problem.addOp({});
  uint32_t second = problem.addOp({});
  uint32_t firstWait = problem.addOp({first});
  uint32_t barrier = problem.addOp({firstWait});
  uint32_t secondWait = problem.addOp({second, barrier});
  problem.collectives = {{first, firstWait}, {second, secondWait}};
  problem.buckets = {{0, 1}};
  Members parts = getMembers(cut(problem));
  std::sort(parts.begin(), parts.end());
  EXPECT_EQ(parts, (Members{{0}, {1}}));
}

TEST(CollectiveBucketsTest, AStartFollowsItsLastOperand) {
  Problem problem;
  problem.addCollective({problem.addOp({})});
  uint32_t other = problem.addOp({});
  problem.addCollective({other});
  uint32_t update = problem.addOp({2});
  problem.addOp({5});
  problem.buckets = {{0, 1}};
  // What reads the first member waits for the second one.
  EXPECT_EQ(order(problem, cut(problem)),
            (std::vector<uint32_t>{0, other, 1, 2, update, 7}));
}

TEST(CollectiveBucketsTest, EarlyOperandsAreBroughtForward) {
  Problem problem;
  uint32_t use = problem.addOp({problem.addCollective({})});
  uint32_t other = problem.addOp({});
  uint32_t cast = problem.addOp({});
  uint32_t next = problem.addCollective({cast});
  problem.addOp({use, next, other});
  problem.buckets = {{0, 1}};
  std::vector<bool> isEarly(problem.graph.getNumOps());
  isEarly[cast] = true;
  EXPECT_EQ(order(problem, cut(problem), isEarly),
            (std::vector<uint32_t>{cast, 0, 1, use, other, 7}));
  // Near miss: others are not, so that the bucket starts later.
  EXPECT_EQ(order(problem, cut(problem)),
            (std::vector<uint32_t>{other, cast, 0, 1, use, 7}));
}

TEST(CollectiveBucketsTest, WaitsDoNotSink) {
  // Nobody reads the gradients before the end.
  Problem problem;
  problem.addCollective({});
  problem.addCollective({});
  uint32_t compute = problem.addOp({});
  problem.addOp({1, 3, compute});
  problem.buckets = {{0, 1}};
  EXPECT_EQ(order(problem, cut(problem)),
            (std::vector<uint32_t>{0, 1, compute, 5}));
}

TEST(CollectiveBucketsTest, NothingMovesWithoutBuckets) {
  Problem problem;
  uint32_t wait = problem.addCollective({});
  problem.addOp({});
  problem.addOp({wait});
  problem.buckets = {{0}};
  EXPECT_EQ(order(problem, cut(problem)), (std::vector<uint32_t>{0, 1, 2, 3}));
}

static Problem makeRandomProblem(std::mt19937 &random) {
  auto pick = [&](uint32_t bound) {
    return static_cast<uint32_t>(random() % bound);
  };
  Problem problem;
  uint32_t numSteps = 4 + pick(20), density = 1 + pick(3);
  std::vector<uint32_t> values;
  for (uint32_t step = 0; step != numSteps; ++step) {
    std::vector<uint32_t> sources;
    for (uint32_t i = 0; i != density && !values.empty(); ++i)
      if (pick(3) > 0)
        sources.push_back(values[pick(values.size())]);
    values.push_back(pick(2) ? problem.addCollective(sources)
                             : problem.addOp(sources));
  }
  problem.buckets.resize(1 + pick(4));
  for (uint32_t i = 0; i != problem.collectives.size(); ++i)
    if (pick(4) > 0)
      problem.buckets[pick(problem.buckets.size())].push_back(i);
  for (CollectiveBucket &bucket : problem.buckets)
    std::shuffle(bucket.begin(), bucket.end(), random);
  return problem;
}

TEST(CollectiveBucketsTest, RandomBucketsAreCutOnlyWhereTheyMustBe) {
  std::mt19937 random(1);
  unsigned numCut = 0, numWhole = 0;
  for (unsigned run = 0; run != 2000; ++run) {
    Problem problem = makeRandomProblem(random);
    std::vector<BucketPart> wanted;
    for (const CollectiveBucket &bucket : problem.buckets)
      if (!bucket.empty())
        wanted.push_back({0, bucket, std::nullopt});
    Matrix before = getReachability(problem, getLeaders(problem, wanted));
    std::vector<BucketPart> parts = cut(problem);
    std::vector<uint32_t> leaders = getLeaders(problem, parts);
    Matrix after = getReachability(problem, leaders);
    for (uint32_t op = 0; op != leaders.size(); ++op)
      ASSERT_FALSE(after[op][op]) << "run " << run;
    std::vector<CollectiveBucket> found(problem.buckets.size());
    for (const BucketPart &part : parts)
      for (uint32_t member : part.members)
        found[part.bucket].push_back(member);
    for (uint32_t i = 0; i != found.size(); ++i) {
      CollectiveBucket bucket = problem.buckets[i];
      unsigned numParts = std::count_if(
          parts.begin(), parts.end(),
          [&](const BucketPart &part) { return part.bucket == i; });
      if (bucket.empty())
        continue;
      // A bucket that reaches itself is in a circle.
      uint32_t start = problem.collectives[bucket.front()].start;
      uint32_t wait = problem.collectives[bucket.front()].wait;
      if (!before[start][start] && !before[wait][wait]) {
        ASSERT_EQ(numParts, 1u) << "run " << run;
      }
      ++(numParts > 1 ? numCut : numWhole);
      std::sort(found[i].begin(), found[i].end());
      std::sort(bucket.begin(), bucket.end());
      ASSERT_EQ(found[i], bucket) << "run " << run;
    }
  }
  EXPECT_GT(numCut, 500u);
  EXPECT_GT(numWhole, 500u);
}

TEST(CollectiveBucketsTest, RandomOrdersRespectDependencies) {
  std::mt19937 random(2);
  for (unsigned run = 0; run != 2000; ++run) {
    Problem problem = makeRandomProblem(random);
    std::vector<bool> isEarly(problem.graph.getNumOps());
    for (uint32_t op = 0; op != isEarly.size(); ++op)
      isEarly[op] = random() % 2;
    std::vector<BucketPart> parts = cut(problem);
    std::vector<uint32_t> result = order(problem, parts, isEarly);
    std::vector<uint32_t> leaders = getLeaders(problem, parts);
    std::vector<uint32_t> places(leaders.size(), ~0u);
    for (uint32_t place = 0; place != result.size(); ++place)
      places[result[place]] = place;
    for (uint32_t op = 0; op != leaders.size(); ++op) {
      ASSERT_NE(places[leaders[op]], ~0u) << "run " << run;
      for (uint32_t i = problem.graph.begins[op];
           i != problem.graph.begins[op + 1]; ++i)
        ASSERT_LT(places[leaders[problem.graph.sources[i]]],
                  places[leaders[op]])
            << "run " << run;
    }
    std::sort(leaders.begin(), leaders.end());
    leaders.erase(std::unique(leaders.begin(), leaders.end()), leaders.end());
    ASSERT_EQ(result.size(), leaders.size()) << "run " << run;
  }
}

/// Layers of gathers, computation, and reductions that the next layer does not
/// wait for; every layer has a bucket whose members all depend on each other.
static uint64_t countSteps(uint32_t layers) {
  Problem problem;
  uint32_t last = problem.addOp({});
  for (uint32_t layer = 0; layer != layers; ++layer) {
    CollectiveBucket gathers, reductions, chain;
    for (unsigned i = 0; i != 9; ++i) {
      gathers.push_back(problem.collectives.size());
      uint32_t wait = problem.addCollective({problem.addOp({})});
      for (unsigned step = 0; step != 10; ++step)
        last = problem.addOp({last, wait});
      reductions.push_back(problem.collectives.size());
      problem.addOp({problem.addCollective({last})});
      chain.push_back(problem.collectives.size());
      last = problem.addCollective({last});
    }
    problem.buckets.insert(problem.buckets.end(), {gathers, reductions, chain});
  }
  std::vector<bool> isEarly(problem.graph.getNumOps());
  BucketWork work;
  std::vector<BucketPart> parts = cutCyclicBuckets(
      problem.graph, problem.collectives, problem.buckets, &work);
  orderBuckets(problem.graph, problem.collectives, parts, isEarly, &work);
  EXPECT_EQ(parts.size(), layers * 11);
  return work.steps;
}

TEST(CollectiveBucketsTest, StepsGrowLinearly) {
  uint64_t few = countSteps(50), many = countSteps(400);
  EXPECT_LE(many, 9 * few);
}
