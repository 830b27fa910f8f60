//===- CostModelTest.cpp - Seconds of computation and collectives ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Cost/CostModel.h"

#include "gtest/gtest.h"

using namespace regather;

/// Nodes of four ranks; one protocol, with numbers that are easy to add up.
static Cluster makeCluster() {
  Cluster cluster;
  cluster.name = "test";
  cluster.device.peakFlops["bf16"] = 100e12;
  cluster.device.vectorFlops = 10e12;
  cluster.device.matmulEfficiency = 0.5;
  cluster.device.attentionEfficiency = 0.25;
  cluster.device.memoryBandwidth = 1e12;
  cluster.device.memoryEfficiency = 0.5;
  cluster.device.launchSeconds = 1e-6;
  LinkClass inner, outer;
  inner.name = "inner";
  inner.spanRanks = 4;
  inner.protocols = {{"copy", 1e-6, 2e-6, 1e9}};
  outer.name = "outer";
  outer.protocols = {{"copy", 5e-6, 30e-6, 1e8}};
  cluster.links = {inner, outer};
  cluster.algorithms = {CollectiveAlgorithm::Ring};
  return cluster;
}

static GroupPlacement group(int64_t inNode, int64_t nodes) {
  return {inNode * nodes, {inNode, nodes}};
}

TEST(CostModel, ComputationTakesTheLongerOfArithmeticAndTraffic) {
  CostModel model(makeCluster());
  EXPECT_DOUBLE_EQ(model.computeSeconds(50e12, 1, "bf16", WorkKind::Matmul),
                   1 + 1e-6);
  EXPECT_DOUBLE_EQ(model.computeSeconds(25e12, 1, "bf16", WorkKind::Attention),
                   1 + 1e-6);
  EXPECT_DOUBLE_EQ(model.computeSeconds(10e12, 1, "bf16"), 1 + 1e-6);
  EXPECT_DOUBLE_EQ(model.computeSeconds(1, 0.5e12, "bf16", WorkKind::Matmul),
                   1 + 1e-6);
  // A type without a peak of its own.
  EXPECT_DOUBLE_EQ(model.computeSeconds(5e12, 1, "i32", WorkKind::Matmul),
                   1 + 1e-6);
  EXPECT_EQ(model.computeSeconds(0, 0, "bf16"), 0);
}

TEST(CostModel, GradientsOfAttentionMayHaveAnotherRate) {
  Cluster cluster = makeCluster();
  auto getSeconds = [&] {
    return CostModel(cluster).computeSeconds(25e12, 1, "bf16",
                                             WorkKind::AttentionBackward);
  };
  EXPECT_DOUBLE_EQ(getSeconds(), 1 + 1e-6);
  cluster.device.attentionBackwardEfficiency = 0.05;
  EXPECT_DOUBLE_EQ(getSeconds(), 5 + 1e-6);
  // A table of attention counts for both, unless there is one of gradients.
  cluster.device.measured = {
      {WorkKind::Attention, "bf16", {{25e12, 7}, {50e12, 8}}}};
  EXPECT_DOUBLE_EQ(getSeconds(), 7 + 1e-6);
  cluster.device.measured.push_back(
      {WorkKind::AttentionBackward, "bf16", {{25e12, 9}, {50e12, 10}}});
  EXPECT_DOUBLE_EQ(getSeconds(), 9 + 1e-6);
}

TEST(CostModel, MeasuredWorkOverridesRates) {
  Cluster cluster = makeCluster();
  cluster.device.measured = {{WorkKind::Matmul, "bf16", {{1e6, 1}, {3e6, 2}}},
                             {WorkKind::Other, "", {{1e3, 0.5}, {2e3, 1.5}}}};
  CostModel model(cluster);
  // The first point, on the line between both, and beyond the last.
  EXPECT_DOUBLE_EQ(model.computeSeconds(1, 1, "bf16", WorkKind::Matmul),
                   1 + 1e-6);
  EXPECT_DOUBLE_EQ(model.computeSeconds(2e6, 1, "bf16", WorkKind::Matmul),
                   1.5 + 1e-6);
  EXPECT_DOUBLE_EQ(model.computeSeconds(5e6, 1, "bf16", WorkKind::Matmul),
                   3 + 1e-6);
  EXPECT_DOUBLE_EQ(model.computeSeconds(1, 1.5e3, ""), 1 + 1e-6);
  // Arithmetic of kernels, and GEMMs that move much, as without tables.
  EXPECT_DOUBLE_EQ(model.computeSeconds(40e12, 1.5e3, ""), 4 + 1e-6);
  EXPECT_DOUBLE_EQ(model.computeSeconds(1, 1e12, "bf16", WorkKind::Matmul),
                   2 + 1e-6);
  // Other work and other types have the rates.
  EXPECT_DOUBLE_EQ(model.computeSeconds(25e12, 1, "bf16", WorkKind::Attention),
                   1 + 1e-6);
  EXPECT_DOUBLE_EQ(model.computeSeconds(5e12, 1, "i32", WorkKind::Matmul),
                   1 + 1e-6);
}

TEST(CostModel, PlacesGroups) {
  CostModel model(makeCluster());
  EXPECT_EQ(model.placeGroup({0, 1, 2, 3}), group(4, 1));
  EXPECT_EQ(model.placeGroup({3, 4}), group(1, 2));
  EXPECT_EQ(model.placeGroup({0, 4, 8, 12}), group(1, 4));
  EXPECT_EQ(model.placeGroup({9, 0, 1, 8}), group(2, 2));
  EXPECT_EQ(model.placeGroup({7}), group(1, 1));
  // Six ranks in two nodes, of which one has two.
  GroupPlacement uneven = model.placeGroup({0, 1, 2, 3, 4, 5});
  EXPECT_EQ(uneven.ranks, 6);
  EXPECT_EQ(uneven.counts, (llvm::SmallVector<int64_t, 3>{2, 2}));
}

// Ranks are row-major: the last axis varies fastest.
TEST(CostModel, PlacesGroupsOfAMesh) {
  CostModel model(makeCluster());
  EXPECT_EQ(model.placeMeshGroup({8, 4}, {1}), group(4, 1));
  EXPECT_EQ(model.placeMeshGroup({8, 4}, {0}), group(1, 8));
  EXPECT_EQ(model.placeMeshGroup({8, 2}, {0}), group(2, 4));
  EXPECT_EQ(model.placeMeshGroup({8, 4}, {0, 1}), group(4, 8));
  EXPECT_EQ(model.placeMeshGroup({2, 2, 2}, {0, 2}), group(2, 2));
  EXPECT_EQ(model.placeMeshGroup({2, 2, 2}, {1}), group(2, 1));
  EXPECT_EQ(model.placeMeshGroup({4}, {}), group(1, 1));
}

// Of groups of three ranks in nodes of four, one lies in a node and others do
// not; the latter count.
TEST(CostModel, TheSlowestGroupOfAMeshCounts) {
  CostModel model(makeCluster());
  GroupPlacement placed = model.placeMeshGroup({4, 3}, {1});
  EXPECT_EQ(placed.ranks, 3);
  EXPECT_EQ(placed.counts, (llvm::SmallVector<int64_t, 3>{1, 2}));
}

TEST(CostModel, RingInsideANode) {
  CostModel model(makeCluster());
  EXPECT_DOUBLE_EQ(
      model.collectiveSeconds(CollectiveKind::AllGather, 1e9, group(4, 1)),
      1e-6 + 3 * 2e-6 + 1);
  // Two rounds.
  EXPECT_DOUBLE_EQ(
      model.collectiveSeconds(CollectiveKind::AllReduce, 1e9, group(4, 1)),
      1e-6 + 6 * 2e-6 + 1);
  EXPECT_EQ(
      model.collectiveSeconds(CollectiveKind::AllReduce, 1e9, group(1, 1)), 0);
}

TEST(CostModel, RingAcrossNodes) {
  CostModel model(makeCluster());
  // One rank in each node has one link.
  EXPECT_DOUBLE_EQ(
      model.collectiveSeconds(CollectiveKind::AllGather, 1e8, group(1, 3)),
      5e-6 + 2 * 30e-6 + 1);
  // Four have four, and the links inside of the node are quicker still.
  EXPECT_DOUBLE_EQ(
      model.collectiveSeconds(CollectiveKind::AllGather, 4e8, group(4, 3)),
      5e-6 + 9 * 2e-6 + 2 * 30e-6 + 1);
}

TEST(CostModel, AllToAllHasOneLinkPerRank) {
  CostModel model(makeCluster());
  // 4 of 7 peers are in the other node.
  EXPECT_DOUBLE_EQ(
      model.collectiveSeconds(CollectiveKind::AllToAll, 7e8, group(4, 2)),
      5e-6 + 3 * 2e-6 + 4 * 30e-6 + 4);
}

TEST(CostModel, PermuteMakesOneStep) {
  CostModel model(makeCluster());
  EXPECT_DOUBLE_EQ(
      model.collectiveSeconds(CollectiveKind::Permute, 1e8, group(4, 2)),
      5e-6 + 30e-6 + 1);
}

// A tree makes few steps and a ring moves few bytes; the quicker one is taken.
TEST(CostModel, TreesServeSmallMessages) {
  Cluster cluster = makeCluster();
  cluster.algorithms.push_back(CollectiveAlgorithm::Tree);
  CostModel model(cluster);
  GroupPlacement wide = group(1, 64);
  CollectiveEstimate small =
      model.estimateCollective(CollectiveKind::AllReduce, 8, wide);
  EXPECT_EQ(small.algorithm, CollectiveAlgorithm::Tree);
  EXPECT_NEAR(small.seconds, 5e-6 + 2 * 6 * 30e-6, 1e-6);
  EXPECT_EQ(small.link, 1u);
  EXPECT_EQ(
      model.estimateCollective(CollectiveKind::AllReduce, 1e9, wide).algorithm,
      CollectiveAlgorithm::Ring);
  EXPECT_EQ(
      model.estimateCollective(CollectiveKind::AllGather, 8, wide).algorithm,
      CollectiveAlgorithm::Ring);
}

// The stages of a hierarchical collective receive the same bytes in all.
TEST(CostModel, HierarchicalCollectivesHaveStages) {
  Cluster cluster = makeCluster();
  cluster.algorithms = {CollectiveAlgorithm::Hierarchical};
  CostModel model(cluster);
  // 12 ranks: each receives 2 parts of 11 across nodes, and 9 inside.
  EXPECT_DOUBLE_EQ(
      model.collectiveSeconds(CollectiveKind::AllGather, 11e8, group(4, 3)),
      (5e-6 + 2 * 30e-6 + 2.0) + (1e-6 + 3 * 2e-6 + 0.9));
}

TEST(CostModel, TheQuickestProtocolIsTaken) {
  Cluster cluster = makeCluster();
  cluster.links[0].protocols.push_back({"bulk", 1e-3, 0, 1e10});
  cluster.links[1].protocols.push_back({"bulk", 1e-3, 0, 1e9});
  CostModel model(cluster);
  EXPECT_DOUBLE_EQ(
      model.collectiveSeconds(CollectiveKind::AllGather, 1e3, group(4, 1)),
      1e-6 + 3 * 2e-6 + 1e-6);
  EXPECT_DOUBLE_EQ(
      model.collectiveSeconds(CollectiveKind::AllGather, 1e10, group(4, 1)),
      1e-3 + 1);
}

TEST(CostModel, MeasuredTablesOverrideFormulas) {
  Cluster cluster = makeCluster();
  cluster.measured.push_back({/*link=*/1,
                              CollectiveKind::AllGather,
                              /*ranks=*/8,
                              /*ranksPerNode=*/4,
                              {{1000, 1}, {2000, 2}, {4000, 8}}});
  CostModel model(cluster);
  auto seconds = [&](double bytes) {
    CollectiveEstimate estimate =
        model.estimateCollective(CollectiveKind::AllGather, bytes, group(4, 2));
    EXPECT_TRUE(estimate.isMeasured);
    return estimate.seconds;
  };
  EXPECT_EQ(seconds(10), 1);
  EXPECT_EQ(seconds(1000), 1);
  EXPECT_EQ(seconds(1500), 1.5);
  EXPECT_EQ(seconds(3000), 5);
  EXPECT_EQ(seconds(4000), 8);
  EXPECT_EQ(seconds(6000), 14);
  // Neither another kind nor another group.
  EXPECT_FALSE(
      model.estimateCollective(CollectiveKind::AllReduce, 1000, group(4, 2))
          .isMeasured);
  EXPECT_FALSE(
      model.estimateCollective(CollectiveKind::AllGather, 1000, group(1, 8))
          .isMeasured);
}

TEST(CostModel, FindsTheSizeThatSaturatesALink) {
  CostModel model(makeCluster());
  // latency 7 us at 1e9 bytes per second: nine times as long for 90 %.
  EXPECT_NEAR(
      model.saturatingBytes(CollectiveKind::AllGather, group(4, 1), 0.9),
      9 * 7000, 1);
  EXPECT_EQ(model.saturatingBytes(CollectiveKind::AllGather, group(1, 1), 0.9),
            0);
}

// What an injected link does: latency and bytes, whatever the collective is.
TEST(CostModel, UniformLinksKnowNoHops) {
  Cluster cluster = makeCluster();
  LinkClass link;
  link.name = "injected";
  link.protocols = {
      {"simple", /*latencySeconds=*/1e-3, /*hopSeconds=*/0, /*bandwidth=*/1e6}};
  cluster.links = {link};
  CostModel model(cluster);
  GroupPlacement all = model.placeGroup({0, 1, 2, 3, 4, 5, 6, 7});
  for (CollectiveKind kind :
       {CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
        CollectiveKind::AllReduce, CollectiveKind::AllToAll,
        CollectiveKind::Broadcast, CollectiveKind::Permute})
    EXPECT_DOUBLE_EQ(model.collectiveSeconds(kind, 5e5, all), 0.501);
  EXPECT_FALSE(bool(cluster.checkRanks(1 << 20)));
}

// What the data sheets and the literature say, within the bounds in which they
// agree with each other.
TEST(CostModel, ShippedClustersArePlausible) {
  CostModel h100(*loadCluster("h100-nodes"));
  // 8192-cube products in bf16 at 769 to 798 TFLOP/s.
  double product = 2.0 * 8192 * 8192 * 8192;
  double seconds = h100.computeSeconds(product, 3 * 2.0 * 8192 * 8192, "bf16",
                                       WorkKind::Matmul);
  EXPECT_GT(product / seconds, 740e12);
  EXPECT_LT(product / seconds, 800e12);
  // Rings on 8 ranks reach 311 GB/s at 128 MB and 362 GB/s at 8 GB.
  double bytes = 128e6 * 7 / 8;
  GroupPlacement node = h100.placeMeshGroup({8}, {0});
  EXPECT_NEAR(bytes / h100.collectiveSeconds(CollectiveKind::ReduceScatter,
                                             bytes, node),
              311e9, 0.1 * 311e9);
  // One rank in each node has one link of 400 Gb/s, eight have eight.
  GroupPlacement thin = h100.placeMeshGroup({8, 8}, {0});
  GroupPlacement thick = h100.placeMeshGroup({64}, {0});
  EXPECT_NEAR(1e9 /
                  h100.collectiveSeconds(CollectiveKind::AllGather, 1e9, thin),
              48e9, 1e9);
  EXPECT_GT(8e9 / h100.collectiveSeconds(CollectiveKind::AllGather, 8e9, thick),
            300e9);
}
