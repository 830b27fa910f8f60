//===- PyTorchPartitionTest.cpp - What PyTorch would save -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What takes long chains to see; the other rules are tested on programs, and
// all of them against PyTorch (test/python/test_match_pytorch.py).
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Recomputation/PyTorchPartition.h"

#include "gtest/gtest.h"

using namespace regather;
using Kind = JointNode::Kind;

namespace {
/// A graph that is built node by node.
class Joint {
public:
  uint32_t add(Kind kind, std::initializer_list<uint32_t> inputs,
               int64_t bytes) {
    JointNode node;
    node.kind = kind;
    node.bytes = bytes;
    node.inputs = inputs;
    nodes.push_back(node);
    return nodes.size() - 1;
  }
  /// Something that is saved if backward needs it.
  uint32_t addMatmul(std::initializer_list<uint32_t> inputs, int64_t bytes) {
    return add(Kind::Call, inputs, bytes);
  }
  uint32_t addFused(std::initializer_list<uint32_t> inputs, int64_t bytes) {
    uint32_t number = add(Kind::Call, inputs, bytes);
    nodes[number].isFusible = nodes[number].isRecomputable = true;
    return number;
  }
  /// Fused operations, each of which reads the one before.
  uint32_t addChain(uint32_t start, unsigned length, int64_t bytes) {
    for (unsigned i = 0; i < length; ++i)
      start = addFused({start}, bytes);
    return start;
  }
  void addLoss(uint32_t input) {
    uint32_t loss = addMatmul({input}, 4);
    nodes[loss].isReturned = true;
  }
  /// A gradient that reads values without fusing them, or fused.
  void addGradient(std::initializer_list<uint32_t> inputs, bool isFused) {
    uint32_t tangent = add(Kind::Tangent, {}, 4);
    uint32_t gradient = isFused ? addFused(inputs, 4) : addMatmul(inputs, 4);
    nodes[gradient].inputs.push_back(tangent);
    nodes[gradient].isReturned = nodes[gradient].isReturnedByBackward = true;
  }

  PyTorchCut cut() {
    Result<PyTorchCut> cut = partitionLikePyTorch(nodes);
    EXPECT_TRUE(bool(cut)) << cut.getMessage();
    return cut ? *cut : PyTorchCut();
  }

  std::vector<JointNode> nodes;
};
} // namespace

/// Saves `length` steps behind a matmul, for a gradient that fuses them.
static bool savesEndOfChain(unsigned length) {
  Joint joint;
  uint32_t x = joint.add(Kind::Argument, {}, 100);
  uint32_t matmul = joint.addMatmul({x}, 100);
  uint32_t last = joint.addChain(matmul, length, 100);
  // A reader of the last one, in forward, so that the chain goes on.
  joint.addLoss(joint.addFused({last}, 100));
  // The matmul is saved in any case, so that only a ban saves more.
  joint.addGradient({matmul}, /*isFused=*/false);
  joint.addGradient({last}, /*isFused=*/true);
  PyTorchCut cut = joint.cut();
  EXPECT_TRUE(cut.isSaved[matmul]);
  return cut.isSaved[last];
}

TEST(PyTorchPartitionTest, LongChain) {
  // The chain starts at its first operation, and may be 100 longer.
  EXPECT_FALSE(savesEndOfChain(101));
  EXPECT_TRUE(savesEndOfChain(102));
}

TEST(PyTorchPartitionTest, WeightGrowsWithDistance) {
  // One matmul, one chain, and what backward reads at its end.
  auto getValue = [](unsigned length) {
    Joint joint;
    uint32_t x = joint.add(Kind::Argument, {}, 1'000'000);
    uint32_t matmul = joint.addMatmul({x}, 1000);
    uint32_t last = joint.addChain(matmul, length, 4000);
    joint.addLoss(last);
    joint.addGradient({last}, /*isFused=*/true);
    return joint.cut().value;
  };
  EXPECT_EQ(getValue(1), 1210);
  EXPECT_EQ(getValue(2), 1331);
  // The weight is cut off, as PyTorch cuts it off.
  EXPECT_EQ(getValue(4), 1610);
  // Far away, the end of the chain weighs less.
  EXPECT_EQ(getValue(20), 4400);
}

TEST(PyTorchPartitionTest, NothingToSave) {
  Joint joint;
  uint32_t x = joint.add(Kind::Argument, {}, 100);
  joint.nodes[x].isFree = true;
  joint.addLoss(x);
  joint.addGradient({x}, /*isFused=*/true);
  PyTorchCut cut = joint.cut();
  EXPECT_EQ(cut.value, 0);
  EXPECT_TRUE(cut.isSaved[x]);
}

TEST(PyTorchPartitionTest, NoCut) {
  // A pair that backward needs as it is can be neither saved nor computed
  // again.
  Joint joint;
  uint32_t x = joint.add(Kind::Argument, {}, 100);
  uint32_t pair = joint.addMatmul({x}, 100);
  joint.nodes[pair].isTuple = true;
  joint.addLoss(pair);
  joint.addGradient({pair}, /*isFused=*/false);
  Result<PyTorchCut> cut = partitionLikePyTorch(joint.nodes);
  EXPECT_FALSE(bool(cut));
  EXPECT_EQ(cut.getMessage(),
            "every cut between source and sink has an infinite capacity");
}
