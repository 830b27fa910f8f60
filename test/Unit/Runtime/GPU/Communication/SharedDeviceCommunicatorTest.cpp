//===- SharedDeviceCommunicatorTest.cpp - Ranks on one device -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPU/Communication/SharedDeviceCommunicator.h"
#include "CollectiveBuffers.h"

using namespace regather::runtime;
using regather::Failure;

namespace {

class SharedDeviceCommunicationTest : public testing::TestWithParam<int32_t> {
protected:
  SharedDeviceCommunicationTest() : driver(loadStandIn()) {
    streams.resize(8);
    for (CuStream &stream : streams)
      EXPECT_EQ(driver.cuStreamCreate(&stream, kCuStreamNonBlocking),
                kCuSuccess);
  }
  ~SharedDeviceCommunicationTest() override {
    for (CuStream stream : streams)
      driver.cuStreamDestroy_v2(stream);
  }

  /// Does all collectives of a program and compares them with the host.
  void run(const CollectiveProgram &program, int64_t reductionBytes) {
    int32_t ranks = program.getRanks();
    SharedDeviceCommunicator communication(driver, ranks, reductionBytes);
    ASSERT_EQ(getMessage(communication.prepare(*program.get().program,
                                               /*inGraphs=*/false)),
              "");
    for (int64_t i = 0; i < program.getNumCases(); ++i) {
      CollectiveBuffers buffers(driver, program.getCase(i), ranks, uint32_t(i));
      for (int32_t rank = 0; rank < ranks; ++rank)
        ASSERT_EQ(getMessage(communication.start(rank, i, buffers.get(rank),
                                                 streams[size_t(rank)])),
                  "");
      buffers.check(program.getCollective(i));
    }
  }

  DriverApi driver;
  std::vector<CuStream> streams;
};

TEST_P(SharedDeviceCommunicationTest, EqualsHost) {
  CollectiveProgram program(GetParam(), getCollectiveCases(GetParam()));
  run(program, int64_t(64) << 20);
}

// Staging memory for a few elements: many rounds.
TEST_P(SharedDeviceCommunicationTest, ReducesInRounds) {
  CollectiveProgram program(GetParam(), getCollectiveCases(GetParam()));
  run(program, 1);
}

INSTANTIATE_TEST_SUITE_P(Ranks, SharedDeviceCommunicationTest,
                         testing::Values(1, 2, 3, 4, 8));

using SharedDeviceCommunicationErrorTest = SharedDeviceCommunicationTest;

static CollectiveCase makeAllReduce() {
  CollectiveCase item;
  item.kind = RG_ALL_REDUCE;
  item.members = {{RG_F32, {4}, {4}}};
  return item;
}

TEST_F(SharedDeviceCommunicationErrorTest, SaysWhichRanksDisagree) {
  CollectiveProgram program(2, {makeAllReduce(), makeAllReduce()});
  CollectiveBuffers buffers(driver, program.getCase(0), 2, 0);
  // Starts the first collective on rank 0, then another one.
  auto startTwo = [&](int32_t rank) {
    SharedDeviceCommunicator communication(driver, 2);
    EXPECT_FALSE(
        communication.prepare(*program.get().program, /*inGraphs=*/false));
    EXPECT_FALSE(communication.start(0, 0, buffers.get(0), streams[0]));
    return getMessage(
        communication.start(rank, 1, buffers.get(rank), streams[size_t(rank)]));
  };
  EXPECT_EQ(startTwo(1), "rank 1 starts 'tg.collective' in model.layer, but "
                         "rank 0 starts 'tg.collective' in model.layer");
  EXPECT_EQ(startTwo(0),
            "rank 0 starts 'tg.collective' in model.layer before all ranks of "
            "its group [0, 1] have started instruction 0");
}

// As communicators between hosts do.
TEST_F(SharedDeviceCommunicationErrorTest, KeepsTheFirstReason) {
  CollectiveProgram program(1, {makeAllReduce()});
  CollectiveBuffers buffers(driver, program.getCase(0), 1, 0);
  SharedDeviceCommunicator communication(driver, 1);
  ASSERT_FALSE(
      communication.prepare(*program.get().program, /*inGraphs=*/false));
  EXPECT_EQ(getMessage(communication.poll()), "");
  communication.abort("a kernel has failed");
  communication.abort("another reason");
  EXPECT_EQ(getMessage(communication.poll()), "a kernel has failed");
  Failure started = communication.start(0, 0, buffers.get(0), streams[0]);
  EXPECT_EQ(getMessage(started), "a kernel has failed");
  EXPECT_EQ(started.getCode(), RG_ERROR_ABORTED);
}

TEST_F(SharedDeviceCommunicationErrorTest, RefusesTooFewRanks) {
  CollectiveProgram program(4, {makeAllReduce()});
  SharedDeviceCommunicator communication(driver, 2);
  EXPECT_EQ(getMessage(communication.prepare(*program.get().program,
                                             /*inGraphs=*/false)),
            "the program is for more than 2 ranks");
}

TEST_F(SharedDeviceCommunicationErrorTest, SaysWhatMemoryIsNeeded) {
  SharedDeviceCommunicator communication(driver, 1);
  std::string message = getMessage(communication.allocate(int64_t(1) << 50));
  EXPECT_NE(message.find("cannot allocate 1125899906842624 bytes"),
            std::string::npos)
      << message;
}

} // namespace
