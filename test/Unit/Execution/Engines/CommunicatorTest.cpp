//===- CommunicatorTest.cpp - How ranks reach each other ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Engines/Communicator.h"

#include "gtest/gtest.h"

using namespace regather;

static CommunicatorOptions parse(const std::string &text) {
  Result<CommunicatorOptions> options = parseCommunicator(text);
  EXPECT_TRUE(options) << options.getMessage();
  return options ? *options : CommunicatorOptions();
}

static std::string errorOf(const std::string &text) {
  Result<CommunicatorOptions> options = parseCommunicator(text);
  return options ? "" : options.getMessage();
}

TEST(CommunicatorTest, ReadsUnits) {
  EXPECT_EQ(parse("threads").latencySeconds, 0);
  EXPECT_EQ(parse("threads").bandwidth, 0);
  EXPECT_DOUBLE_EQ(parse("threads,latency=50us").latencySeconds, 50e-6);
  EXPECT_DOUBLE_EQ(parse("threads,latency=2").latencySeconds, 2);
  EXPECT_DOUBLE_EQ(parse("threads,latency=1.5ms").latencySeconds, 1.5e-3);
  EXPECT_DOUBLE_EQ(parse("threads,bandwidth=10GB/s").bandwidth, 10e9);
  EXPECT_DOUBLE_EQ(parse("threads,bandwidth=400Gb/s").bandwidth, 50e9);
  EXPECT_DOUBLE_EQ(parse("threads,bandwidth=1e6").bandwidth, 1e6);
  CommunicatorOptions both = parse("threads,latency=3ns,bandwidth=2kB/s");
  EXPECT_DOUBLE_EQ(both.latencySeconds, 3e-9);
  EXPECT_DOUBLE_EQ(both.bandwidth, 2e3);
}

TEST(CommunicatorTest, ReadsNccl) {
  EXPECT_EQ(parse("threads").kind, CommunicatorKind::Threads);
  EXPECT_EQ(parse("mpi").kind, CommunicatorKind::Mpi);
  EXPECT_EQ(parse("nccl").kind, CommunicatorKind::Nccl);
  EXPECT_FALSE(parse("mpi").isChecked);
  EXPECT_TRUE(parse("mpi,checked").isChecked);
  EXPECT_FALSE(parse("nccl").isReproducible);
  EXPECT_TRUE(parse("nccl,reproducible").isReproducible);
  EXPECT_EQ(errorOf("nccl,latency=1us"),
            "--comm with nccl knows reproducible, not \"latency=1us\", got "
            "\"nccl,latency=1us\"");
}

TEST(CommunicatorTest, SaysWhatItExpects) {
  EXPECT_EQ(errorOf("gloo"),
            "--comm expects threads, with latency=SECONDS, "
            "bandwidth=BYTES_PER_SECOND or host-bandwidth=BYTES_PER_SECOND "
            "behind commas, mpi or nccl, got \"gloo\"");
  EXPECT_EQ(errorOf("mpi,latency=1us"),
            "--comm with mpi knows checked, not \"latency=1us\", got "
            "\"mpi,latency=1us\"");
  EXPECT_EQ(errorOf("threads,delay=1"),
            "--comm knows latency, bandwidth and host-bandwidth, not "
            "\"delay=1\", got \"threads,delay=1\"");
  for (const char *latency :
       {"", "x", "-1", "0", "nan", "inf", "5GB/s", "5 us"})
    EXPECT_EQ(errorOf(std::string("threads,latency=") + latency),
              std::string("--comm expects a positive latency such as 50us, got "
                          "\"threads,latency=") +
                  latency + "\"");
  EXPECT_EQ(errorOf("threads,bandwidth=5us"),
            "--comm expects a positive bandwidth such as 10GB/s, got "
            "\"threads,bandwidth=5us\"");
  EXPECT_NE(errorOf(""), "");
  EXPECT_NE(errorOf("threads,"), "threads,");
  EXPECT_NE(errorOf("threads,latency"), "");
}
