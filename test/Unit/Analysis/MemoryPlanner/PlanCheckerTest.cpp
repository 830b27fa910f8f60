//===- PlanCheckerTest.cpp - Whether a memory plan holds ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanChecker.h"

#include "gtest/gtest.h"

using namespace llvm;
using namespace regather;

static std::string check(const MemoryPlanRequest &request,
                         std::vector<uint64_t> offsets, uint64_t peak) {
  Failure failure = checkMemoryPlan(request, offsets, peak);
  return failure ? failure.getMessage() : "";
}

namespace {
class MemoryPlanCheckerTest : public ::testing::Test {
protected:
  /// The second begins in the last step of the first; the third after both.
  MemoryPlanCheckerTest() {
    request.buffers = {{16, 16, 0, 3, std::nullopt},
                       {16, 16, 2, 5, std::nullopt},
                       {32, 16, 5, 6, std::nullopt}};
  }
  MemoryPlanRequest request;
};
} // namespace

TEST_F(MemoryPlanCheckerTest, Holds) {
  EXPECT_EQ(check(request, {0, 16, 0}, 32), "");
}

TEST_F(MemoryPlanCheckerTest, Overlap) {
  const char *message = "buffers 0 and 1 are live together from step 2, but "
                        "lie at offsets 16 and 16 with 16 and 16 bytes";
  EXPECT_EQ(check(request, {16, 16, 0}, 32), message);
  request.inPlace = {{1, 0}};
  EXPECT_EQ(check(request, {16, 16, 0}, 32), "");
  // Dies a step too late for that.
  request.buffers[0].end = 4;
  EXPECT_EQ(check(request, {16, 16, 0}, 32), message);
  request.groups = {{0, 1}};
  EXPECT_EQ(check(request, {16, 16, 0}, 32), "");
}

TEST_F(MemoryPlanCheckerTest, OverlapWithAboveAndBelow) {
  request.buffers[1].size = 32;
  EXPECT_NE(check(request, {16, 0, 0}, 32), "");
  request.buffers[0].size = 32;
  EXPECT_NE(check(request, {0, 16, 0}, 48), "");
}

TEST_F(MemoryPlanCheckerTest, EndOfArena) {
  EXPECT_EQ(check(request, {0, 16, 16}, 32),
            "buffer 2 of 32 bytes at offset 16 does not end within the 32 "
            "bytes of the arena");
}

TEST_F(MemoryPlanCheckerTest, Alignment) {
  EXPECT_EQ(check(request, {0, 24, 0}, 48),
            "offset 24 of buffer 1 is not a multiple of its alignment 16");
}

TEST_F(MemoryPlanCheckerTest, FixedPlace) {
  request.buffers[0].fixedOffset = 16;
  EXPECT_EQ(check(request, {0, 16, 0}, 32),
            "buffer 0 is fixed at offset 16, but lies at 0");
}

TEST_F(MemoryPlanCheckerTest, Group) {
  request.groups = {{0, 1}};
  EXPECT_EQ(check(request, {0, 16, 0}, 32),
            "buffers 0 and 1 have to be at the same place, but lie at offsets "
            "0 and 16");
  request.groups = {{0, 3}};
  EXPECT_EQ(check(request, {0, 16, 0}, 32),
            "a group names buffer 3, but there are only 3");
}

TEST_F(MemoryPlanCheckerTest, WrongNumberOfOffsets) {
  EXPECT_EQ(check(request, {0}, 32), "plan has 1 offsets for 3 buffers");
}
