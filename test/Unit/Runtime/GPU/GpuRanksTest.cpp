//===- GpuRanksTest.cpp - Steps of several ranks on GPUs ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuTestProgram.h"
#include "RecordedDriver.h"

using namespace regather::runtime;
using namespace regather::test;

using Vector = std::vector<int64_t>;

/// Sums over groups along the first axis of a mesh, and gathers along the
/// second.
static void addSumAndGather(GpuTestProgram &test, int64_t first,
                            int64_t second) {
  test.ranks = int32_t(first * second);
  int32_t a = test.addArgument(2);
  int32_t rows = test.addAxes({first}, {second});
  int32_t columns = test.addAxes({second}, {1});
  int32_t sum = test.addCollective(RG_ALL_REDUCE, rows, 2, 2);
  int32_t gather = test.addCollective(RG_ALL_GATHER, columns, 2, 2 * second);
  test.add(RG_OP_COLLECTIVE, sum, {argument(a, 2), arena(0, 2)}, 1);
  test.add(RG_OP_RECORD, 0, {}, 1);
  test.add(RG_OP_WAIT, 0, {}, 2);
  test.add(RG_OP_COLLECTIVE, gather, {arena(0, 2), arena(8, 2 * second)}, 2, 0,
           "tg.all_gather at \"step.mlir\":7:3");
  test.addResult(2 * second, arena(8, 2 * second));
}

TEST(GpuRanks, ShareADevice) {
  GpuTestProgram test;
  addSumAndGather(test, 2, 3);
  GpuTestExecutor executor(test);
  ASSERT_EQ(executor.status, RG_OK) << executor.getError();
  for (int64_t step = 0; step < 3; ++step) {
    for (int32_t rank = 0; rank < 6; ++rank)
      ASSERT_EQ(executor.upload(rank, 0, {rank + step, 10 * rank}), RG_OK);
    ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
    // Ranks 0 and 3 are added, 1 and 4, 2 and 5.
    for (int32_t rank = 0; rank < 6; ++rank)
      EXPECT_EQ(executor.getResult(rank),
                (Vector{3 + 2 * step, 30, 5 + 2 * step, 50, 7 + 2 * step, 70}));
  }
}

// The computation is on stream 0.
TEST(GpuRanks, StreamsWithCollectivesComeFirst) {
  RecordFile record;
  GpuTestProgram test;
  addSumAndGather(test, 1, 1);
  GpuTestExecutor executor(test);
  ASSERT_EQ(executor.status, RG_OK) << executor.getError();
  std::vector<std::string> calls =
      record.getCalls("cuStreamCreateWithPriority");
  ASSERT_EQ(calls.size(), 3u);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_NE(calls[i].find(i ? "\"priority\": -5" : "\"priority\": 0"),
              std::string::npos)
        << calls[i];
}

/// What torchrun says to a job of one process.
namespace {
struct JobOfOne {
  ScopedVariable rank{"RANK", "0"}, ranks{"WORLD_SIZE", "1"},
      localRank{"LOCAL_RANK", "0"}, address{"MASTER_ADDR", "localhost"},
      port{"MASTER_PORT", "1"}, agent{"TORCHELASTIC_USE_AGENT_STORE", "False"};

  static rg_gpu_executor_options getOptions() {
    rg_gpu_executor_options options = {};
    options.one_rank_of_job = 1;
    options.nccl_library = REGATHER_RECORDING_LIBRARY;
    return options;
  }
};
} // namespace

TEST(GpuRanks, CommunicateByNccl) {
  JobOfOne job;
  RecordFile record;
  GpuTestProgram test;
  addSumAndGather(test, 1, 1);
  GpuTestExecutor executor(test, JobOfOne::getOptions());
  ASSERT_EQ(executor.status, RG_OK) << executor.getError();
  ASSERT_EQ(executor.upload(0, 0, {4, 5}), RG_OK);
  ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
  EXPECT_EQ(executor.getResult(), (Vector{4, 5}));
  EXPECT_EQ(record.getCalls("ncclAllReduce").size(), 1u);
  EXPECT_EQ(record.getCalls("ncclAllGather").size(), 1u);
}

/// The same as a graph that begins and ends on stream 0.
static void addGraphOfSumAndGather(GpuTestProgram &test, int64_t first,
                                   int64_t second) {
  test.add(RG_OP_RECORD, 1);
  test.add(RG_OP_WAIT, 1, {}, 1);
  addSumAndGather(test, first, second);
  test.add(RG_OP_RECORD, 2, {}, 2);
  test.add(RG_OP_WAIT, 2);
  test.addGraph("step", 0, int64_t(test.instructions.size()));
}

TEST(GpuRanks, CollectiveInAGraphOfAll) {
  RecordFile record;
  GpuTestProgram test;
  addGraphOfSumAndGather(test, 2, 3);
  GpuTestExecutor executor(test);
  ASSERT_EQ(executor.status, RG_OK) << executor.getError();
  for (int64_t step = 0; step < 4; ++step) {
    for (int32_t rank = 0; rank < 6; ++rank)
      ASSERT_EQ(executor.upload(rank, 0, {rank + step, 10 * rank}), RG_OK);
    ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
    for (int32_t rank = 0; rank < 6; ++rank)
      EXPECT_EQ(executor.getResult(rank),
                (Vector{3 + 2 * step, 30, 5 + 2 * step, 50, 7 + 2 * step, 70}));
  }
  EXPECT_EQ(record.getCalls("cuStreamBeginCapture_v2").size(), 1u);
  EXPECT_EQ(record.getCalls("cuGraphLaunch").size(), 3u);
}

TEST(GpuRanks, CommunicateByNcclInAGraph) {
  JobOfOne job;
  RecordFile record;
  GpuTestProgram test;
  addGraphOfSumAndGather(test, 1, 1);
  GpuTestExecutor executor(test, JobOfOne::getOptions());
  ASSERT_EQ(executor.status, RG_OK) << executor.getError();
  for (int64_t step = 0; step < 4; ++step) {
    ASSERT_EQ(executor.upload(0, 0, {4 + step, 5}), RG_OK);
    ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
    EXPECT_EQ(executor.getResult(), (Vector{4 + step, 5}));
  }
  // Once in the first step, and once for the graph.
  EXPECT_EQ(record.getCalls("ncclAllReduce").size(), 2u);
  EXPECT_EQ(record.getCalls("cuGraphLaunch").size(), 3u);
}

// What a graph replays counts as well.
TEST(GpuRanks, SayWhichCollectiveOfAGraphHasFailed) {
  JobOfOne job;
  // Of each communicator, in the third step.
  ScopedVariable fault("REGATHER_STAND_IN_NCCL_FAULT", "hang:0:3");
  GpuTestProgram test;
  addGraphOfSumAndGather(test, 1, 1);
  rg_gpu_executor_options options = JobOfOne::getOptions();
  options.timeout_seconds = 0.5;
  GpuTestExecutor executor(test, options);
  ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
  ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
  EXPECT_EQ(executor.run(), RG_ERROR_DEVICE);
  EXPECT_NE(executor.getError().find("rank 0 is in collective 3 of group [0]"),
            std::string::npos)
      << executor.getError();
}

// The message and the log name what did not end.
TEST(GpuRanks, SayWhichCollectiveHasFailed) {
  JobOfOne job;
  ScopedVariable fault("REGATHER_STAND_IN_NCCL_FAULT", "hang:0:1");
  GpuTestProgram test;
  addSumAndGather(test, 1, 1);
  rg_gpu_executor_options options = JobOfOne::getOptions();
  options.first_timeout_seconds = 0.05;
  std::string log = getTemporaryPath("ranks.");
  options.collective_log = log.c_str();
  GpuTestExecutor executor(test, options);
  ASSERT_EQ(executor.status, RG_OK) << executor.getError();
  EXPECT_EQ(executor.run(), RG_ERROR_DEVICE);
  EXPECT_EQ(executor.getError(),
            "the step is not done after 0.05 seconds; rank 0 is in collective "
            "1 of group [0]: instruction; the last collectives are in '" +
                log + "0.json'");
  EXPECT_EQ(executor.getFailure().instruction, 0);
  std::ifstream file(log + "0.json");
  EXPECT_TRUE(file.good());
  std::remove((log + "0.json").c_str());
}

TEST(GpuRanks, RefuseAJobOfAnotherSize) {
  JobOfOne job;
  GpuTestProgram test;
  test.ranks = 4;
  GpuTestExecutor executor(test, JobOfOne::getOptions());
  EXPECT_EQ(executor.status, RG_ERROR_ARGUMENT);
  EXPECT_EQ(executor.getError(),
            "the program was compiled for 4 ranks, but the job has 1");
}

TEST(GpuRanks, WantNccl) {
  JobOfOne job;
  GpuTestProgram test;
  rg_gpu_executor_options options = JobOfOne::getOptions();
  options.nccl_library = "/no/nccl.so";
  GpuTestExecutor executor(test, options);
  EXPECT_EQ(executor.status, RG_ERROR_DEVICE);
  EXPECT_EQ(executor.getError().find("cannot open NCCL: /no/nccl.so: "), 0u)
      << executor.getError();
}
