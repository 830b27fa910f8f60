//===- NcclCommunicatorTest.cpp - Collectives by NCCL ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks are threads, and the stand-in NCCL moves data between them.
//
//===----------------------------------------------------------------------===//

#include "NcclRanks.h"

#include <algorithm>

using namespace regather::runtime;

namespace {

/// The stand-in looks for the file to write to when it is started.
void openRecord(const DriverApi &driver) {
  ASSERT_EQ(driver.cuInit(0), kCuSuccess);
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

class NcclCommunicationTest : public testing::TestWithParam<int32_t> {
protected:
  NcclCommunicationTest() : driver(loadStandIn()) {}

  /// Does all collectives of a program and compares them with the host.
  void run(const CollectiveProgram &program, const NcclOptions &options) {
    int32_t ranks = program.getRanks();
    std::deque<CollectiveBuffers> buffers;
    for (int64_t i = 0; i < program.getNumCases(); ++i)
      buffers.emplace_back(driver, program.getCase(i), ranks, uint32_t(i));
    runNcclRanks(driver, ranks, options, [&](const NcclRank &rank) {
      ASSERT_EQ(getMessage(rank.prepare(program)), "");
      rank.communication.beginStep();
      for (int64_t i = 0; i < program.getNumCases(); ++i)
        ASSERT_EQ(
            getMessage(rank.communication.start(
                rank.rank, i, buffers[size_t(i)].get(rank.rank), rank.stream)),
            "");
      ASSERT_EQ(getMessage(rank.communication.poll()), "");
      rank.communication.endStep();
    });
    for (int64_t i = 0; i < program.getNumCases(); ++i)
      buffers[size_t(i)].check(program.getCollective(i));
  }

  DriverApi driver;
};

/// The result does not depend on the order of additions.
bool isExact(const CollectiveCase &item) {
  bool isReduction =
      item.kind == RG_REDUCE_SCATTER || item.kind == RG_ALL_REDUCE;
  for (const MemberCase &member : item.members)
    if (isReduction && item.reduction != RG_MAX && member.dtype <= RG_F16)
      return false;
  return true;
}

TEST_P(NcclCommunicationTest, EqualsHostIfReproducible) {
  NcclOptions options;
  options.isReproducible = true;
  CollectiveProgram program(GetParam(), getCollectiveCases(GetParam()));
  run(program, options);
  options.reductionBytes = 1;
  run(program, options);
}

TEST_P(NcclCommunicationTest, EqualsHostWithLibraryOrder) {
  std::vector<CollectiveCase> cases = getCollectiveCases(GetParam());
  cases.erase(
      std::remove_if(cases.begin(), cases.end(),
                     [](const CollectiveCase &item) { return !isExact(item); }),
      cases.end());
  ASSERT_FALSE(cases.empty());
  CollectiveProgram program(GetParam(), cases);
  run(program, NcclOptions());
}

INSTANTIATE_TEST_SUITE_P(Ranks, NcclCommunicationTest,
                         testing::Values(1, 2, 3, 4));

using NcclCallsTest = NcclCommunicationTest;

CollectiveCase getGather() {
  CollectiveCase item;
  item.members = {{RG_F32, {2, 3}, {4, 3}}, {RG_BF16, {1}, {2}}};
  item.isInPlace = true;
  return item;
}

CollectiveCase getAllReduce(int64_t size = 4) {
  CollectiveCase item;
  item.kind = RG_ALL_REDUCE;
  item.members = {{RG_F32, {size}, {size}}};
  return item;
}

// Members travel in one group, from and to where they are.
TEST_F(NcclCallsTest, GathersInPlaceWithoutCopies) {
  RecordFile record;
  openRecord(driver);
  CollectiveProgram program(2, {getGather()});
  run(program, NcclOptions());
  EXPECT_EQ(record.getCalls("ncclAllGather").size(), 4u);
  EXPECT_EQ(record.getCalls("ncclGroupEnd").size(), 2u);
  EXPECT_TRUE(record.getCalls("cuMemcpyDtoDAsync_v2").empty());
  EXPECT_TRUE(record.getCalls("cuMemcpy2DAsync_v2").empty());
}

TEST_F(NcclCallsTest, SumsInTheLibraryUnlessReproducible) {
  CollectiveCase item = getAllReduce();
  CollectiveProgram program(2, {item});
  CollectiveBuffers buffers(driver, program.getCase(0), 2, 0);
  RecordFile record;
  openRecord(driver);
  for (bool isReproducible : {false, true}) {
    NcclOptions options;
    options.isReproducible = isReproducible;
    runNcclRanks(driver, 2, options, [&](const NcclRank &rank) {
      ASSERT_FALSE(rank.prepare(program));
      ASSERT_FALSE(rank.communication.start(
          rank.rank, 0, buffers.get(rank.rank), rank.stream));
    });
    EXPECT_EQ(record.getCalls("ncclAllReduce").size(), 2u);
    EXPECT_EQ(record.getCalls("cuLaunchKernel").size(),
              isReproducible ? 2u : 0u);
    EXPECT_EQ(record.getCalls("ncclSend").size(), isReproducible ? 2u : 0u);
  }
}

// Gathers may use copy engines, which reductions cannot.
TEST_F(NcclCallsTest, HasCommunicatorsForGathersAndForReductions) {
  RecordFile record;
  openRecord(driver);
  CollectiveProgram program(2, {getGather(), getAllReduce(), getGather()});
  run(program, NcclOptions());
  std::vector<std::string> calls = record.getCalls("ncclCommInitRankConfig");
  ASSERT_EQ(calls.size(), 4u);
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(contains(calls[i], "\"policy\": 2"), i < 2) << calls[i];
}

TEST_F(NcclCallsTest, EstimatesWhatCommunicatorsTake) {
  auto estimate = [&](int32_t ranks, const std::vector<CollectiveCase> &cases) {
    CollectiveProgram program(ranks, cases);
    int64_t bytes = 0;
    runNcclRanks(driver, 1, {}, [&](const NcclRank &rank) {
      bytes = rank.communication.estimateLibraryBytes(*program.get().program);
    });
    return bytes;
  };
  EXPECT_EQ(estimate(1, {getAllReduce()}), 0);
  EXPECT_EQ(estimate(2, {getAllReduce()}), 256 << 20);
  EXPECT_EQ(estimate(2, {getGather(), getAllReduce(), getGather()}), 512 << 20);
}

TEST_F(NcclCallsTest, GathersOfGraphsDoWithoutCopyEngines) {
  RecordFile record;
  openRecord(driver);
  CollectiveProgram program(2, {getGather()});
  program.formGraph();
  run(program, NcclOptions());
  for (const std::string &call : record.getCalls("ncclCommInitRankConfig"))
    EXPECT_TRUE(contains(call, "\"policy\": " + std::to_string(kNcclUndefined)))
        << call;
}

/// Allocates an arena and prepares, and returns the recorded calls.
std::vector<std::string> getCalls(const DriverApi &driver, const char *version,
                                  const char *call) {
  RecordFile record;
  openRecord(driver);
  ScopedVariable variable("REGATHER_STAND_IN_NCCL", version);
  CollectiveProgram program(2, {getGather(), getAllReduce()});
  runNcclRanks(driver, 2, {}, [&](const NcclRank &rank) {
    ASSERT_EQ(getMessage(rank.communication.allocate(8192)), "");
    ASSERT_EQ(getMessage(rank.prepare(program)), "");
  });
  return record.getCalls(call);
}

TEST_F(NcclCallsTest, RegistersTheArenaWhereWindowsAreRight) {
  const char *call = "ncclCommWindowRegister";
  EXPECT_EQ(getCalls(driver, "23007", call).size(), 4u);
  EXPECT_EQ(getCalls(driver, "23006", call).size(), 0u);
}

using NcclErrorTest = NcclCommunicationTest;

TEST_F(NcclErrorTest, RefusesOldVersions) {
  ScopedVariable variable("REGATHER_STAND_IN_NCCL", "22501");
  NcclApi nccl;
  std::string message = getMessage(nccl.load(REGATHER_RECORDING_LIBRARY));
  EXPECT_TRUE(contains(message, "has version 2.25.1, but 2.26.2 or newer is "
                                "needed"))
      << message;
  message = getMessage(nccl.load("/no/such/library.so"));
  EXPECT_TRUE(contains(message, "cannot open NCCL: /no/such/library.so"))
      << message;
}

TEST_F(NcclErrorTest, RefusesProgramsForOtherRanks) {
  CollectiveProgram program(2, {getAllReduce()});
  runNcclRanks(driver, 1, {}, [&](const NcclRank &rank) {
    EXPECT_EQ(getMessage(rank.prepare(program)),
              "the program was compiled for 2 ranks, but there are 1");
  });
}

/// Starts a collective on two ranks that fails on all of them, and returns the
/// messages.
std::vector<std::string> fail(const DriverApi &driver,
                              const CollectiveProgram &first,
                              const CollectiveProgram &second,
                              const NcclOptions &options) {
  std::vector<std::string> messages(2);
  CollectiveBuffers firstBuffers(driver, first.getCase(0), 2, 0);
  CollectiveBuffers secondBuffers(driver, second.getCase(0), 2, 0);
  runNcclRanks(driver, 2, options, [&](const NcclRank &rank) {
    const CollectiveProgram &program = rank.rank ? second : first;
    const CollectiveBuffers &buffers = rank.rank ? secondBuffers : firstBuffers;
    ASSERT_EQ(getMessage(rank.prepare(program)), "");
    rank.communication.beginStep();
    auto start = [&] {
      return rank.communication.start(rank.rank, 0, buffers.get(rank.rank),
                                      rank.stream);
    };
    std::string &message = messages[size_t(rank.rank)];
    message = getMessage(start());
    ASSERT_NE(message, "");
    EXPECT_EQ(getMessage(rank.communication.poll()), message);
    EXPECT_TRUE(start()) << "the communicator was not ended";
    rank.communication.endStep();
  });
  return messages;
}

TEST_F(NcclErrorTest, FindsMismatches) {
  CollectiveProgram first(2, {getAllReduce(4)}), second(2, {getAllReduce(8)});
  for (const std::string &message : fail(driver, first, second, {}))
    EXPECT_TRUE(contains(message, "position 0 calls ncclAllReduce of 4 "
                                  "elements of type 7, but position 1 calls "
                                  "ncclAllReduce of 8 elements of type 7"))
        << message;
}

// Rank, group, number, operation and module are in the message.
TEST_F(NcclErrorTest, ReportsAsynchronousErrors) {
  ScopedVariable fault("REGATHER_STAND_IN_NCCL_FAULT", "error:1:1");
  CollectiveProgram program(2, {getAllReduce()});
  NcclOptions options;
  options.watchdog.pollSeconds = 0.001;
  options.watchdog.firstStepSeconds = 0.1;
  std::vector<std::string> messages = fail(driver, program, program, options);
  EXPECT_EQ(messages[1],
            "an exchange for reductions of group [0, 1]: remote process exited "
            "or there was a network error: an injected failure; rank 1 is in "
            "collective 1 of group [0, 1]: 'tg.collective' in model.layer");
  EXPECT_EQ(messages[0],
            "the step is not done after 0.1 seconds; rank 0 is in collective 1 "
            "of group [0, 1]: 'tg.collective' in model.layer");
}

// A graph that holds a collective keeps NCCL from ending the communicator.
TEST_F(NcclErrorTest, WaitsForGraphsForAWhileOnly) {
  CollectiveProgram program(1, {getAllReduce()});
  program.formGraph();
  CollectiveBuffers buffers(driver, program.getCase(0), 1, 0);
  NcclOptions options;
  options.abortSeconds = 0.01;
  RecordFile record;
  openRecord(driver);
  runNcclRanks(driver, 1, options, [&](const NcclRank &rank) {
    ASSERT_EQ(getMessage(rank.prepare(program)), "");
    auto start = [&] {
      return rank.communication.start(0, 0, buffers.get(0), rank.stream);
    };
    ASSERT_EQ(getMessage(start()), "");
    ASSERT_EQ(
        driver.cuStreamBeginCapture_v2(rank.stream, kCuCaptureThreadLocal), 0);
    ASSERT_EQ(getMessage(start()), "");
    CuGraph graph = nullptr;
    ASSERT_EQ(driver.cuStreamEndCapture(rank.stream, &graph), 0);
    rank.communication.abort("a kernel has failed");
    EXPECT_EQ(getMessage(rank.communication.poll()), "a kernel has failed");
    EXPECT_EQ(getMessage(start()), "a kernel has failed");
    EXPECT_EQ(driver.cuGraphDestroy(graph), 0);
  });
  EXPECT_EQ(record.getCalls("ncclCommAbort").size(), 1u);
}

/// Fails in a step that never ends.
static void failWithoutEnd(const DriverApi &driver) {
  ScopedVariable fault("REGATHER_STAND_IN_NCCL_FAULT", "error:0:1");
  CollectiveProgram program(1, {getAllReduce()});
  CollectiveBuffers buffers(driver, program.getCase(0), 1, 0);
  NcclOptions options;
  options.watchdog.pollSeconds = 0.001;
  options.watchdog.firstStepSeconds = 1;
  options.watchdog.graceSeconds = 0.01;
  runNcclRanks(driver, 1, options, [&](const NcclRank &rank) {
    ASSERT_EQ(getMessage(rank.prepare(program)), "");
    rank.communication.beginStep();
    EXPECT_TRUE(rank.communication.start(0, 0, buffers.get(0), rank.stream));
    std::this_thread::sleep_for(std::chrono::hours(1));
  });
}

// The step found the failure; the watchdog, which ends the process, tells it.
TEST_F(NcclErrorTest, TheLastWordIsWhatHasFailed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(failWithoutEnd(driver), testing::ExitedWithCode(70),
              "error: an exchange for reductions of group .0.: remote process "
              "exited or there was a network error: an injected failure");
}

// A rank that does not come is waited for until time is over, and then all
// communicators are ended and the last collectives written down.
TEST_F(NcclErrorTest, EndsAHang) {
  ScopedVariable fault("REGATHER_STAND_IN_NCCL_FAULT", "hang:1:1");
  RecordFile record;
  openRecord(driver);
  CollectiveProgram program(2, {getAllReduce()});
  NcclOptions options;
  options.watchdog.pollSeconds = 0.001;
  options.watchdog.firstStepSeconds = 0.1;
  options.logFile = getTemporaryPath("collectives.");
  std::vector<std::string> messages = fail(driver, program, program, options);
  for (size_t rank = 0; rank < 2; ++rank) {
    std::string path = options.logFile + std::to_string(rank);
    EXPECT_EQ(messages[rank],
              "the step is not done after 0.1 seconds; rank " +
                  std::to_string(rank) +
                  " is in collective 1 of group [0, 1]: 'tg.collective' in "
                  "model.layer; the last collectives are in '" +
                  path + "'");
    std::ifstream file(path);
    std::string text((std::istreambuf_iterator<char>(file)),
                     std::istreambuf_iterator<char>());
    EXPECT_TRUE(contains(
        text, "{\"step\": 1, \"group\": [0, 1], \"sequence\": 1, \"kind\": "
              "\"all_reduce\", \"operation\": \"'tg.collective' in "
              "model.layer\", \"tag\": 0, \"bytes\": 16, \"stream\": 0, "
              "\"state\": \"running\"}"))
        << text;
    std::remove(path.c_str());
  }
  EXPECT_EQ(record.getCalls("ncclCommAbort").size(), 2u);
}

} // namespace
