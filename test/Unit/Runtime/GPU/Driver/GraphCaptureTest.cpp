//===- GraphCaptureTest.cpp - Graphs on the stand-in driver ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../GpuTestProgram.h"
#include "../RecordedDriver.h"

using namespace regather::runtime;
using namespace regather::test;

using Vector = std::vector<int64_t>;

/// A line without the number of the capture.
static std::string getWork(std::string line) {
  size_t capture = line.find(", \"capture\"");
  if (capture != std::string::npos)
    line.erase(capture, line.find_first_of(",}", capture + 1) - capture);
  return line;
}

static std::vector<std::string> getWork(const std::vector<std::string> &lines,
                                        size_t begin, size_t end) {
  std::vector<std::string> work;
  for (size_t i = begin; i != end; ++i)
    work.push_back(getWork(lines[i]));
  return work;
}

namespace {
/// sum += a; twice = 2 * sum on stream 1, and back to stream 0.
class Accumulation : public GpuTestProgram {
public:
  explicit Accumulation(int32_t numRanks = 1) {
    ranks = numRanks;
    int32_t a = addArgument(2);
    int32_t sum = addArgument(2, /*donated=*/true);
    int32_t addition = addKernel({"add"}, 2, 2);
    int32_t entry = addCollective(RG_ALL_REDUCE, addAxes({1}, {1}), 2, 2);
    add(RG_OP_COPY, 0, {arena(4, 2), argument(sum, 2)});
    first = instructions.size();
    add(RG_OP_LAUNCH, addition,
        {argument(a, 2), arena(4, 2), argument(sum, 2)});
    add(RG_OP_RECORD, 0);
    add(RG_OP_WAIT, 0, {}, 1);
    add(RG_OP_COLLECTIVE, entry, {argument(sum, 2), arena(0, 2)}, 1);
    add(RG_OP_RECORD, 1, {}, 1);
    add(RG_OP_WAIT, 1);
    add(RG_OP_LAUNCH, addition, {arena(0, 2), argument(sum, 2), arena(2, 2)});
    end = instructions.size();
    add(RG_OP_COPY, 0, {arena(6, 2), arena(2, 2)});
    addResult(2, arena(6, 2));
  }

  size_t first = 0, end = 0;
};
} // namespace

TEST(GraphCapture, CapturesOnceAndReplays) {
  Accumulation test;
  test.addGraph("all but copies", int64_t(test.first), int64_t(test.end));
  RecordFile record;
  GpuTestExecutor executor(test);
  ASSERT_EQ(executor.upload(0, 0, {1, 2}), RG_OK);
  ASSERT_EQ(executor.upload(0, 1, {10, 20}), RG_OK);
  for (int64_t i = 1; i <= 4; ++i) {
    ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
    EXPECT_EQ(executor.getResult(), (Vector{2 * (10 + i), 2 * (20 + 2 * i)}));
  }
  auto count = [&](const char *name) { return record.getCalls(name).size(); };
  EXPECT_EQ(count("cuStreamBeginCapture_v2"), 1u);
  EXPECT_EQ(count("cuGraphInstantiateWithFlags"), 1u);
  EXPECT_EQ(count("cuGraphLaunch"), 3u);
  // Two additions and a reduction, in the first step and in the capture.
  EXPECT_EQ(count("cuLaunchKernel"), 6u);
}

TEST(GraphCapture, CapturesTheCallsOfTheFirstStep) {
  Accumulation test;
  test.addGraph("all but copies", int64_t(test.first), int64_t(test.end));
  RecordFile record;
  GpuTestExecutor executor(test);
  ASSERT_EQ(executor.upload(0, 0, {1, 2}), RG_OK);
  ASSERT_EQ(executor.upload(0, 1, {10, 20}), RG_OK);
  ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
  ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
  std::vector<std::string> lines = record.getCalls();
  auto find = [&](const std::string &text, size_t from) {
    while (from != lines.size() && lines[from].find(text) == std::string::npos)
      ++from;
    return from;
  };
  size_t eager = find("cuLaunchKernel", 0);
  size_t begin = find("cuStreamBeginCapture_v2", 0);
  size_t end = find("cuStreamEndCapture", begin);
  ASSERT_LT(end, lines.size());
  EXPECT_EQ(getWork(lines, begin + 1, end),
            getWork(lines, eager, eager + end - begin - 1));
}

TEST(GraphCapture, GraphsMayFollowEachOther) {
  Accumulation test;
  test.addGraph("first copy", 0, int64_t(test.first));
  test.addGraph("all", int64_t(test.first), int64_t(test.end));
  test.addGraph("last copy", int64_t(test.end), int64_t(test.end) + 1);
  RecordFile record;
  GpuTestExecutor executor(test);
  ASSERT_EQ(executor.upload(0, 0, {1, 2}), RG_OK);
  ASSERT_EQ(executor.upload(0, 1, {10, 20}), RG_OK);
  for (int64_t i = 1; i <= 3; ++i) {
    ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
    EXPECT_EQ(executor.getResult(), (Vector{2 * (10 + i), 2 * (20 + 2 * i)}));
  }
  EXPECT_EQ(record.getCalls("cuGraphLaunch").size(), 6u);
  // The two copies, in the first step and in the captures.
  EXPECT_EQ(record.getCalls("cuMemcpyDtoDAsync_v2").size(), 4u);
}

TEST(GraphCapture, RanksOfAProcessShareAGraph) {
  Accumulation test(/*numRanks=*/3);
  test.addGraph("all but copies", int64_t(test.first), int64_t(test.end));
  RecordFile record;
  GpuTestExecutor executor(test);
  for (int32_t rank = 0; rank < 3; ++rank) {
    ASSERT_EQ(executor.upload(rank, 0, {rank, 1}), RG_OK);
    ASSERT_EQ(executor.upload(rank, 1, {10, 20}), RG_OK);
  }
  for (int64_t i = 1; i <= 3; ++i) {
    ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
    for (int64_t rank = 0; rank < 3; ++rank)
      EXPECT_EQ(executor.getResult(int32_t(rank)),
                (Vector{2 * (10 + i * rank), 2 * (20 + i)}));
  }
  EXPECT_EQ(record.getCalls("cuGraphInstantiateWithFlags").size(), 1u);
  EXPECT_EQ(record.getCalls("cuGraphLaunch").size(), 2u);
}

TEST(GraphCapture, WorkThatIsNotJoined) {
  Accumulation test;
  // Without the wait of stream 0 and what comes behind it.
  test.addGraph("torn", int64_t(test.first), int64_t(test.end) - 2);
  GpuTestExecutor executor(test);
  EXPECT_EQ(executor.run(), RG_OK) << executor.getError();
  EXPECT_EQ(executor.run(), RG_ERROR_DEVICE);
  EXPECT_NE(executor.getError().find("cuStreamEndCapture has failed: "
                                     "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"),
            std::string::npos)
      << executor.getError();
  EXPECT_EQ(executor.getFailure().instruction, int64_t(test.first));
}

TEST(GraphCapture, FreesItsGraphs) {
  RecordFile record;
  {
    Accumulation test(/*numRanks=*/2);
    test.addGraph("all but copies", int64_t(test.first), int64_t(test.end));
    GpuTestExecutor executor(test);
    ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
    ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
  }
  auto count = [&](const char *name) { return record.getCalls(name).size(); };
  EXPECT_EQ(count("cuGraphDestroy"), 1u);
  EXPECT_EQ(count("cuGraphExecDestroy"), 1u);
  EXPECT_EQ(count("cuEventCreate"), count("cuEventDestroy_v2"));
  for (const std::string &line : record.getCalls())
    EXPECT_EQ(line.find("\"problem\""), std::string::npos) << line;
}
