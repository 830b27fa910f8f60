//===- MinimumCutTest.cpp - Minimum cuts of flow networks -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random networks are compared with another algorithm (Edmonds and Karp, on a
// matrix), and small ones with all cuts that there are.
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Recomputation/MinimumCut.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace regather;

static FlowNetwork makeNetwork(uint32_t numNodes, uint32_t source,
                               uint32_t sink, std::vector<FlowEdge> edges) {
  return {numNodes, source, sink, std::move(edges)};
}

static std::string errorOf(const FlowNetwork &network) {
  Result<MinimumCut> cut = findMinimumCut(network);
  return cut ? "" : cut.getMessage();
}

/// A sum that stays infinite.
static int64_t add(int64_t lhs, int64_t rhs) {
  return lhs >= kInfiniteCapacity || rhs >= kInfiniteCapacity
             ? kInfiniteCapacity
             : lhs + rhs;
}

/// The capacity of the cut with this sink side; kInfiniteCapacity if infinite.
static int64_t getValue(const FlowNetwork &network,
                        const std::vector<bool> &onSinkSide) {
  int64_t value = 0;
  for (const FlowEdge &edge : network.edges)
    if (!onSinkSide[edge.from] && onSinkSide[edge.to])
      value = add(value, edge.capacity);
  return value;
}

TEST(MinimumCutTest, Small) {
  // The cut nearest to the sink is one of two minimum cuts.
  FlowNetwork network = makeNetwork(
      4, 0, 3, {{0, 1, 5}, {1, 2, 3}, {2, 3, 3}, {0, 0, 9}, {3, 0, 7}});
  Result<MinimumCut> cut = findMinimumCut(network);
  ASSERT_TRUE(bool(cut)) << cut.getMessage();
  EXPECT_EQ(cut->value, 3);
  EXPECT_EQ(cut->onSinkSide, (std::vector<bool>{false, false, false, true}));
}

TEST(MinimumCutTest, NothingToCut) {
  Result<MinimumCut> cut =
      findMinimumCut(makeNetwork(3, 0, 2, {{0, 1, 5}, {2, 1, 5}}));
  ASSERT_TRUE(bool(cut)) << cut.getMessage();
  EXPECT_EQ(cut->value, 0);
  EXPECT_EQ(cut->onSinkSide, (std::vector<bool>{false, false, true}));
}

TEST(MinimumCutTest, Errors) {
  EXPECT_EQ(errorOf(makeNetwork(2, 0, 0, {})),
            "source and sink must differ, both are 0");
  EXPECT_EQ(errorOf(makeNetwork(2, 0, 5, {})),
            "source and sink must be among the 2 nodes, got 0 and 5");
  EXPECT_EQ(errorOf(makeNetwork(2, 0, 1, {{0, 2, 1}})),
            "edge 0 from 0 to 2 must stay within the 2 nodes");
  EXPECT_EQ(errorOf(makeNetwork(2, 0, 1, {{0, 1, -1}})),
            "capacity of edge 0 must not be negative, got -1");
  EXPECT_EQ(
      errorOf(makeNetwork(
          3, 0, 2, {{0, 1, kInfiniteCapacity}, {1, 2, kInfiniteCapacity}})),
      "every cut between source and sink has an infinite capacity");
  EXPECT_EQ(errorOf(makeNetwork(2, 0, 1,
                                {{0, 1, kInfiniteCapacity / 4},
                                 {0, 1, kInfiniteCapacity / 4}})),
            "finite capacities add up to 2^61 or more");
}

/// Edges of random length, some of them infinite.
static FlowNetwork makeRandom(std::mt19937 &random, uint32_t maxNodes) {
  auto draw = [&](uint32_t below) {
    return static_cast<uint32_t>(random() % below);
  };
  FlowNetwork network;
  network.numNodes = 2 + draw(maxNodes - 1);
  network.source = draw(network.numNodes);
  network.sink =
      (network.source + 1 + draw(network.numNodes - 1)) % network.numNodes;
  uint32_t numEdges = draw(4 * network.numNodes);
  uint32_t largest = 1u << draw(12);
  for (uint32_t i = 0; i < numEdges; ++i)
    network.edges.push_back(
        {draw(network.numNodes), draw(network.numNodes),
         draw(8) == 0 ? kInfiniteCapacity : int64_t(draw(largest))});
  return network;
}

/// The value of a maximum flow by Edmonds and Karp; kInfiniteCapacity if it is
/// infinite.
static int64_t getMaximumFlow(const FlowNetwork &network) {
  uint32_t n = network.numNodes;
  std::vector<std::vector<int64_t>> residual(n, std::vector<int64_t>(n, 0));
  for (const FlowEdge &edge : network.edges)
    residual[edge.from][edge.to] =
        add(residual[edge.from][edge.to], edge.capacity);
  int64_t value = 0;
  while (true) {
    std::vector<uint32_t> parent(n, n), queue = {network.source};
    parent[network.source] = network.source;
    for (size_t i = 0; i < queue.size() && parent[network.sink] == n; ++i)
      for (uint32_t next = 0; next < n; ++next)
        if (parent[next] == n && residual[queue[i]][next] > 0) {
          parent[next] = queue[i];
          queue.push_back(next);
        }
    if (parent[network.sink] == n)
      return value;
    int64_t flow = kInfiniteCapacity;
    for (uint32_t v = network.sink; v != network.source; v = parent[v])
      flow = std::min(flow, residual[parent[v]][v]);
    if (flow >= kInfiniteCapacity / 2)
      return kInfiniteCapacity;
    for (uint32_t v = network.sink; v != network.source; v = parent[v]) {
      residual[parent[v]][v] -= flow;
      residual[v][parent[v]] += flow;
    }
    value += flow;
  }
}

TEST(MinimumCutTest, EqualsMaximumFlow) {
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i) {
    FlowNetwork network = makeRandom(random, 12);
    int64_t expected = getMaximumFlow(network);
    Result<MinimumCut> cut = findMinimumCut(network);
    if (!cut) {
      ASSERT_EQ(expected, kInfiniteCapacity) << "network " << i;
      continue;
    }
    ASSERT_EQ(cut->value, expected) << "network " << i;
    ASSERT_EQ(getValue(network, cut->onSinkSide), expected) << "network " << i;
    ASSERT_FALSE(cut->onSinkSide[network.source]);
    ASSERT_TRUE(cut->onSinkSide[network.sink]);
  }
}

TEST(MinimumCutTest, SinkSideIsTheSmallest) {
  std::mt19937 random(2);
  for (int i = 0; i < 2000; ++i) {
    FlowNetwork network = makeRandom(random, 7);
    Result<MinimumCut> cut = findMinimumCut(network);
    if (!cut)
      continue;
    for (uint32_t set = 0; set < 1u << network.numNodes; ++set) {
      std::vector<bool> side;
      for (uint32_t node = 0; node < network.numNodes; ++node)
        side.push_back(set >> node & 1);
      if (side[network.source] || !side[network.sink])
        continue;
      int64_t value = getValue(network, side);
      ASSERT_GE(value, cut->value) << "network " << i;
      if (value != cut->value)
        continue;
      for (uint32_t node = 0; node < network.numNodes; ++node)
        ASSERT_TRUE(side[node] || !cut->onSinkSide[node]) << "network " << i;
    }
  }
}

TEST(MinimumCutTest, OrderOfEdgesDoesNotMatter) {
  std::mt19937 random(3);
  for (int i = 0; i < 1000; ++i) {
    FlowNetwork network = makeRandom(random, 40);
    Result<MinimumCut> cut = findMinimumCut(network);
    std::shuffle(network.edges.begin(), network.edges.end(), random);
    Result<MinimumCut> other = findMinimumCut(network);
    ASSERT_EQ(bool(cut), bool(other)) << "network " << i;
    if (!cut)
      continue;
    EXPECT_EQ(cut->value, other->value);
    EXPECT_EQ(cut->onSinkSide, other->onSinkSide);
  }
}

/// A long chain would overflow the stack of a recursive search.
TEST(MinimumCutTest, LongChain) {
  FlowNetwork network;
  network.numNodes = 200000;
  network.sink = network.numNodes - 1;
  for (uint32_t node = 0; node + 1 < network.numNodes; ++node)
    network.edges.push_back({node, node + 1, node == 777 ? 1 : 2});
  Result<MinimumCut> cut = findMinimumCut(network);
  ASSERT_TRUE(bool(cut)) << cut.getMessage();
  EXPECT_EQ(cut->value, 1);
  EXPECT_FALSE(cut->onSinkSide[777]);
  EXPECT_TRUE(cut->onSinkSide[778]);
}
