//===- DataMovementTest.cpp - Tests of collectives that move data ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each kind against a reference that looks at one element at a time. Sizes from
// 0 to past the number of ranks cover even shards, padded shards and shards
// that are padding only.
//
//===----------------------------------------------------------------------===//

#include "RankThreads.h"

using namespace regather::test;

namespace {

int64_t getShardSize(int64_t size, int64_t ranks) {
  return (size + ranks - 1) / ranks;
}

class DataMovementTest : public testing::TestWithParam<int32_t> {
protected:
  int32_t getRanks() const { return GetParam(); }

  /// A tensor of which every element is different, also from those of other
  /// ranks, and none is zero.
  static Tensor<int32_t> getInput(int32_t rank, const Shape &shape) {
    Tensor<int32_t> tensor(shape);
    for (size_t i = 0; i < tensor.data.size(); ++i)
      tensor.data[i] = int32_t(i) + 1 + 100000 * rank;
    return tensor;
  }

  using Reference = std::function<int32_t(int32_t rank, const Shape &index)>;

  /// Runs the collective on inputs from `getInput` and compares every element.
  void check(const rg_collective &collective, const Shape &inputShape,
             const Shape &outputShape, const Reference &reference) {
    TestWorld world(getRanks());
    world.run([&](int32_t rank) {
      Tensor<int32_t> input = getInput(rank, inputShape);
      Tensor<int32_t> output(outputShape, -1);
      rg_member member = getMember(RG_I32, input, output);
      rg_collective own = collective;
      own.members = &member;
      own.member_count = 1;
      ASSERT_EQ(runCollective(world.getComm(rank), own), RG_OK)
          << world.getError();
      output.forEach([&](const Shape &index) {
        ASSERT_EQ(output[index], reference(rank, index))
            << "rank " << rank << " element " << output.getOffset(index);
      });
    });
  }
};

TEST_P(DataMovementTest, AllGather) {
  for (int64_t size : {0, 1, 2, 3, 5, 8, 12})
    for (int64_t dim : {0, 1, 2}) {
      Shape outputShape = {3, 2, 4};
      outputShape[dim] = size;
      Shape inputShape = outputShape;
      int64_t shard = inputShape[dim] = getShardSize(size, getRanks());
      rg_collective collective = getCollective(RG_ALL_GATHER, nullptr, 1);
      collective.dim = dim;
      check(collective, inputShape, outputShape,
            [&](int32_t, const Shape &index) {
              Shape from = index;
              from[dim] = index[dim] % shard;
              return getInput(int32_t(index[dim] / shard), inputShape)[from];
            });
    }
}

TEST_P(DataMovementTest, AllToAllBetweenDims) {
  for (int64_t split : {0, 1, 2})
    for (int64_t concat : {0, 1, 2})
      for (int64_t splitSize : {0, 1, 4, 5})
        for (int64_t concatSize : {1, 4, 7}) {
          if (split == concat)
            continue;
          Shape inputShape = {2, 2, 2};
          inputShape[split] = splitSize;
          int64_t concatShard = inputShape[concat] =
              getShardSize(concatSize, getRanks());
          Shape outputShape = inputShape;
          int64_t splitShard = outputShape[split] =
              getShardSize(splitSize, getRanks());
          outputShape[concat] = concatSize;
          rg_collective collective = getCollective(RG_ALL_TO_ALL, nullptr, 1);
          collective.split_dim = split;
          collective.concat_dim = concat;
          check(collective, inputShape, outputShape,
                [&](int32_t rank, const Shape &index) {
                  Shape from = index;
                  from[split] = rank * splitShard + index[split];
                  from[concat] = index[concat] % concatShard;
                  if (from[split] >= splitSize)
                    return 0;
                  return getInput(int32_t(index[concat] / concatShard),
                                  inputShape)[from];
                });
        }
}

TEST_P(DataMovementTest, AllToAllAlongOneDim) {
  for (int64_t dim : {0, 1}) {
    Shape shape = {3, 5};
    int64_t piece = 2;
    shape[dim] = piece * getRanks();
    rg_collective collective = getCollective(RG_ALL_TO_ALL, nullptr, 1);
    collective.split_dim = collective.concat_dim = dim;
    check(collective, shape, shape, [&](int32_t rank, const Shape &index) {
      Shape from = index;
      from[dim] = rank * piece + index[dim] % piece;
      return getInput(int32_t(index[dim] / piece), shape)[from];
    });
  }
}

TEST_P(DataMovementTest, Broadcast) {
  for (int32_t root = 0; root < getRanks(); ++root) {
    rg_collective collective = getCollective(RG_BROADCAST, nullptr, 1);
    collective.root = root;
    check(collective, {2, 3}, {2, 3}, [&](int32_t, const Shape &index) {
      return getInput(root, {2, 3})[index];
    });
  }
}

// A ring without its last link, so that position 0 receives nothing.
TEST_P(DataMovementTest, Permute) {
  std::vector<int32_t> sources, targets;
  for (int32_t rank = 1; rank < getRanks(); ++rank) {
    sources.push_back(rank - 1);
    targets.push_back(rank);
  }
  rg_collective collective = getCollective(RG_PERMUTE, nullptr, 1);
  collective.sources = sources.data();
  collective.targets = targets.data();
  collective.pair_count = int64_t(sources.size());
  check(collective, {5}, {5}, [&](int32_t rank, const Shape &index) {
    return rank ? getInput(rank - 1, {5})[index] : 0;
  });
}

// Elements are moved as bytes, whatever their size.
TEST_P(DataMovementTest, MovesEveryElementSize) {
  auto checkType = [&](rg_dtype dtype, auto zero) {
    using T = decltype(zero);
    TestWorld world(getRanks());
    world.run([&](int32_t rank) {
      Tensor<T> input({1, 2}, T(rank + 1)), output({getRanks(), 2});
      rg_member member = getMember(dtype, input, output);
      rg_collective collective = getCollective(RG_ALL_GATHER, &member, 1);
      ASSERT_EQ(runCollective(world.getComm(rank), collective), RG_OK);
      output.forEach([&](const Shape &index) {
        ASSERT_EQ(output[index], T(index[0] + 1));
      });
    });
  };
  checkType(RG_I1, uint8_t());
  checkType(RG_BF16, uint16_t());
  checkType(RG_F32, float());
  checkType(RG_F64, double());
}

// The shard lies in the gathered buffer already.
TEST_P(DataMovementTest, GathersInPlace) {
  TestWorld world(getRanks());
  world.run([&](int32_t rank) {
    Tensor<int32_t> buffer({getRanks() * 2, 3});
    for (int64_t i = 0; i < 6; ++i)
      buffer.data[rank * 6 + i] = int32_t(rank * 6 + i);
    Shape shardShape = {2, 3};
    rg_member member = {RG_I32,
                        2,
                        shardShape.data(),
                        buffer.shape.data(),
                        buffer.data.data() + rank * 6,
                        buffer.data.data()};
    rg_collective collective = getCollective(RG_ALL_GATHER, &member, 1);
    ASSERT_EQ(runCollective(world.getComm(rank), collective), RG_OK);
    for (size_t i = 0; i < buffer.data.size(); ++i)
      ASSERT_EQ(buffer.data[i], int32_t(i));
  });
}

// A bucket: several tensors of different types and shapes in one collective.
TEST_P(DataMovementTest, MovesSeveralMembers) {
  TestWorld world(getRanks());
  world.run([&](int32_t rank) {
    Tensor<int32_t> first({2, 1}, rank + 1), firstOut({2, getRanks()});
    Tensor<double> second({1, 1, 2}, rank + 0.5), secondOut({1, getRanks(), 2});
    rg_member members[] = {getMember(RG_I32, first, firstOut),
                           getMember(RG_F64, second, secondOut)};
    rg_collective collective = getCollective(RG_ALL_GATHER, members, 2);
    collective.dim = 1;
    ASSERT_EQ(runCollective(world.getComm(rank), collective), RG_OK);
    firstOut.forEach(
        [&](const Shape &index) { ASSERT_EQ(firstOut[index], index[1] + 1); });
    secondOut.forEach([&](const Shape &index) {
      ASSERT_EQ(secondOut[index], double(index[1]) + 0.5);
    });
  });
}

TEST_P(DataMovementTest, CompletesWithoutMembers) {
  TestWorld world(getRanks());
  world.run([&](int32_t rank) {
    rg_collective collective = getCollective(RG_BROADCAST, nullptr, 0);
    ASSERT_EQ(runCollective(world.getComm(rank), collective), RG_OK);
  });
}

// Group order is the order of the list, not of the ranks.
TEST_P(DataMovementTest, FollowsGroupOrder) {
  TestWorld world(getRanks());
  std::vector<int32_t> reversed(getRanks());
  for (int32_t i = 0; i < getRanks(); ++i)
    reversed[i] = getRanks() - 1 - i;
  world.run([&](int32_t rank) {
    Tensor<int32_t> input({1}, rank), output({getRanks()});
    rg_member member = getMember(RG_I32, input, output);
    rg_collective collective = getCollective(RG_ALL_GATHER, &member, 1);
    rg_comm *comm = world.getComm(rank, reversed);
    ASSERT_EQ(rg_comm_position(comm), getRanks() - 1 - rank);
    ASSERT_EQ(rg_comm_size(comm), getRanks());
    ASSERT_EQ(runCollective(comm, collective), RG_OK);
    ASSERT_EQ(output.data, reversed);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, DataMovementTest, testing::Values(1, 2, 3, 4));

} // namespace
