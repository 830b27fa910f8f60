//===- AssemblyReportTest.cpp - What machine code takes -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/NVPTX/AssemblyReport.h"

#include "gtest/gtest.h"

using namespace regather::nvptx;

TEST(AssemblyReportTest, ReadsEntries) {
  AssemblyReport report = parseAssemblyReport(
      R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_90a'
ptxas info    : Function properties for first
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 768 bytes smem
ptxas info    : Compile time = 7.207 ms
ptxas info    : Compiling entry function 'second' for 'sm_90a'
ptxas info    : Function properties for second
    48 bytes stack frame, 40 bytes spill stores, 44 bytes spill loads
ptxas info    : Used 255 registers
)");
  ASSERT_EQ(report.size(), 2u);
  EXPECT_EQ(report["first"].registers, 32);
  EXPECT_EQ(report["first"].sharedBytes, 768);
  EXPECT_EQ(report["first"].spillBytes, 0);
  EXPECT_EQ(report["second"].registers, 255);
  EXPECT_EQ(report["second"].sharedBytes, 0);
  EXPECT_EQ(report["second"].spillBytes, 40);
  EXPECT_TRUE(parseAssemblyReport("registers\nbytes spill stores").empty());
}

// The numbers of NVIDIA's occupancy calculator.
TEST(AssemblyReportTest, CountsResidentBlocks) {
  auto count = [](llvm::StringRef architecture, int64_t threads,
                  int64_t registers, int64_t staticBytes,
                  int64_t dynamicBytes) {
    Launch launch;
    launch.threads = threads;
    launch.dynamicSharedBytes = dynamicBytes;
    EntryResources resources;
    resources.registers = registers;
    resources.sharedBytes = staticBytes;
    return countResidentBlocks(*findGpuArchitecture(architecture), launch,
                               resources);
  };
  // Threads, the number of blocks, registers, and shared memory set the limit.
  EXPECT_EQ(count("sm_90a", 256, 32, 0, 0), 8);
  EXPECT_EQ(count("sm_90a", 32, 32, 0, 0), 32);
  EXPECT_EQ(count("sm_90a", 256, 33, 0, 0), 6);
  EXPECT_EQ(count("sm_90a", 1024, 33, 0, 0), 1);
  EXPECT_EQ(count("sm_90a", 256, 255, 0, 0), 1);
  EXPECT_EQ(count("sm_90a", 256, 32, 1024, 47 * 1024), 4);
  EXPECT_EQ(count("sm_80", 256, 32, 0, 48 * 1024), 3);
}
