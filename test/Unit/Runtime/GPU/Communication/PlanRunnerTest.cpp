//===- PlanRunnerTest.cpp - A rank's own work in collectives --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPU/Communication/PlanRunner.h"
#include "../RecordedDriver.h"

#include <cstring>

using namespace regather::runtime;

namespace {

/// Copies two rows whose begins lie `pitch` bytes apart next to each other. The
/// memory between them is never touched.
void copyTwoRows(int64_t pitch) {
  constexpr int64_t width = 16;
  DriverApi driver = loadStandIn();
  CuStream stream = nullptr;
  CuAddress buffers[2] = {};
  ASSERT_EQ(driver.cuStreamCreate(&stream, kCuStreamNonBlocking), 0);
  ASSERT_EQ(driver.cuMemAlloc_v2(&buffers[0], size_t(pitch + width)), 0);
  ASSERT_EQ(driver.cuMemAlloc_v2(&buffers[1], 2 * width), 0);
  ASSERT_EQ(driver.cuMemsetD8Async(buffers[0], 1, width, stream), 0);
  ASSERT_EQ(
      driver.cuMemsetD8Async(buffers[0] + CuAddress(pitch), 2, width, stream),
      0);
  PlanPhase phase;
  phase.copies = {{{PlanSpace::Output, 0, 0},
                   {PlanSpace::Input, 0, 0},
                   width,
                   pitch,
                   width,
                   2}};
  PlanMemory memory = {buffers, 0};
  EXPECT_EQ(getMessage(PlanRunner(driver).run(phase, 1, memory, stream,
                                              {0, 0, nullptr})),
            "");
  std::string copied(reinterpret_cast<const char *>(buffers[1]), 2 * width);
  EXPECT_EQ(copied, std::string(width, 1) + std::string(width, 2));
  for (CuAddress buffer : buffers)
    EXPECT_EQ(driver.cuMemFree_v2(buffer), 0);
  EXPECT_EQ(driver.cuStreamDestroy_v2(stream), 0);
}

TEST(PlanRunnerTest, CopiesRowsAtOnce) {
  RecordFile record;
  copyTwoRows(kCuMaxPitch);
  EXPECT_EQ(record.getCalls("cuMemcpy2DAsync_v2").size(), 1u);
}

// The driver refuses a pitch of 2^31 bytes.
TEST(PlanRunnerTest, CopiesRowsOneByOneIfThePitchIsTooLarge) {
  RecordFile record;
  copyTwoRows(kCuMaxPitch + 1);
  EXPECT_EQ(record.getCalls("cuMemcpyDtoDAsync_v2").size(), 2u);
}

} // namespace
