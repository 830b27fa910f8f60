//===- ScheduleTest.cpp - The C interface of schedules --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather-c/Schedule.h"

#include "regather-c/Cost.h"

#include "gtest/gtest.h"

#include <cmath>
#include <string>
#include <vector>

namespace {
/// A GEMM, and behind it a collective, its wait, and a second GEMM that
/// reads what arrived; each writes one buffer.
struct Program {
  std::vector<uint8_t> kinds = {RegatherOpCompute, RegatherOpCollective,
                                RegatherOpWait, RegatherOpCompute};
  std::vector<double> seconds = {1, 1, 0, 1};
  std::vector<uint32_t> streams = {0, 0, 0, 0}, collectives = {0, 0, 1, 0};
  std::vector<uint32_t> begins = {0, 0, 0, 1, 3}, elements = {1, 0, 2};
  std::vector<uint32_t> conflictBegins = {0, 0};
  std::vector<int64_t> bytes = {10, 10, 10};
  std::vector<uint32_t> writers = {0, 1, 3};
  std::vector<uint8_t> liveOut = {0, 0, 1};
  std::vector<uint32_t> userBegins = {0, 2, 5, 6}, users = {0, 3, 1, 2, 3, 3};
  int64_t memoryLimit = 100;
  double memoryRatio = 1;

  std::vector<uint32_t> order;
  RegatherScore score = {}, given = {};

  /// Schedules the program; the message, empty for success.
  std::string run() {
    RegatherTimedArrays arrays;
    arrays.numOps = kinds.size();
    arrays.kinds = kinds.data();
    arrays.seconds = seconds.data();
    arrays.streams = streams.data();
    arrays.collectives = collectives.data();
    arrays.predecessors = {begins.data(), elements.data()};
    arrays.numStreams = conflictBegins.size() - 1;
    arrays.conflicts = {conflictBegins.data(), nullptr};
    arrays.numBuffers = bytes.size();
    arrays.bufferBytes = bytes.data();
    arrays.bufferWriters = writers.data();
    arrays.bufferLiveOut = liveOut.data();
    arrays.bufferUsers = {userBegins.data(), users.data()};
    RegatherScheduleOptions options = {memoryLimit, memoryRatio, 16, 100, 0};
    order.resize(kinds.size());
    RegatherStatus *status =
        regatherSchedule(&arrays, &options, order.data(), &score, &given);
    std::string message = regatherStatusGetMessage(status);
    regatherStatusDestroy(status);
    return message;
  }
};

testing::AssertionResult fails(Program program, const char *part) {
  std::string message = program.run();
  if (message.find(part) != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << '"' << message << "\" lacks " << part;
}

TEST(CAPIScheduleTest, collectiveRunsBesideTheGemm) {
  Program program;
  ASSERT_EQ(program.run(), "");
  EXPECT_EQ(program.order, (std::vector<uint32_t>{1, 0, 2, 3}));
  EXPECT_DOUBLE_EQ(program.given.seconds, 3);
  EXPECT_DOUBLE_EQ(program.given.exposedSeconds, 1);
  EXPECT_DOUBLE_EQ(program.score.seconds, 2);
  EXPECT_DOUBLE_EQ(program.score.exposedSeconds, 0);
  EXPECT_EQ(program.score.peakBytes, 30);
}

TEST(CAPIScheduleTest, memoryLimitsAreKept) {
  Program program;
  program.memoryLimit = 5;
  EXPECT_TRUE(fails(program, "limit"));
  // That of the given order.
  program.memoryLimit = -1;
  EXPECT_EQ(program.run(), "");
  EXPECT_EQ(program.score.peakBytes, program.given.peakBytes);
  program.memoryRatio = 0.5;
  EXPECT_TRUE(fails(program, "at least 1"));
}

TEST(CAPIScheduleTest, malformedArraysAreErrors) {
  Program kind;
  kind.kinds[0] = 9;
  EXPECT_TRUE(fails(kind, "unknown kind"));
  Program begin;
  begin.begins = {0, 2, 1, 1, 3};
  EXPECT_TRUE(fails(begin, "end before they begin"));
  Program element;
  element.elements[0] = 77;
  EXPECT_TRUE(fails(element, "does not exist"));
  Program cycle;
  cycle.elements[0] = 3;
  EXPECT_FALSE(cycle.run().empty());
  Program stream;
  stream.streams[1] = stream.streams[2] = 4;
  EXPECT_FALSE(stream.run().empty());
  Program writer;
  writer.writers[0] = 40;
  EXPECT_FALSE(writer.run().empty());
  Program seconds;
  seconds.seconds[0] = std::nan("");
  EXPECT_FALSE(seconds.run().empty());
  Program collective;
  collective.collectives[2] = 50;
  EXPECT_FALSE(collective.run().empty());
  RegatherStatus *status =
      regatherSchedule(nullptr, nullptr, nullptr, nullptr, nullptr);
  EXPECT_NE(status, nullptr);
  regatherStatusDestroy(status);
}

TEST(CAPICostTest, collectivesTakeTimeOnTheirLinks) {
  int64_t members[] = {0, 1, 2, 3};
  uint8_t kinds[] = {RegatherCollectiveAllGather, RegatherCollectiveAllReduce};
  double received[] = {1e9, 1e9}, seconds[2] = {};
  RegatherStatus *status = regatherCollectiveSeconds("h100-8", 4, members, 2,
                                                     kinds, received, seconds);
  EXPECT_EQ(status, nullptr);
  EXPECT_GT(seconds[0], 1e-4);
  EXPECT_GT(seconds[1], 1e-4);
  kinds[0] = 99;
  status = regatherCollectiveSeconds("h100-8", 4, members, 2, kinds, received,
                                     seconds);
  EXPECT_NE(std::string(regatherStatusGetMessage(status)).find("no kind"),
            std::string::npos);
  regatherStatusDestroy(status);
  members[0] = -1;
  status = regatherCollectiveSeconds("h100-8", 4, members, 2, kinds, received,
                                     seconds);
  EXPECT_NE(std::string(regatherStatusGetMessage(status)).find("out of range"),
            std::string::npos);
  regatherStatusDestroy(status);
}
} // namespace
