//===- WatchdogTest.cpp - Ends steps that do not end ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPU/Nccl/Watchdog.h"
#include "GPU/Nccl/CollectiveLog.h"

#include "gtest/gtest.h"

#include <future>

using namespace regather::runtime;
using regather::Failure;

namespace {

/// A watchdog whose failure can be waited for.
class WatchedStep {
public:
  explicit WatchedStep(Watchdog::Options options, bool isHealthy = true)
      : watchdog(
            options,
            [isHealthy] {
              return isHealthy ? Failure() : Failure("a link is down");
            },
            [this](const std::string &message) {
              failure.set_value(message);
            }) {}

  std::promise<std::string> failure;
  Watchdog watchdog;
};

Watchdog::Options getOptions(double first, double later) {
  Watchdog::Options options;
  options.firstStepSeconds = first;
  options.stepSeconds = later;
  options.pollSeconds = 0.001;
  return options;
}

TEST(WatchdogTest, FirstStepMayTakeLonger) {
  WatchedStep step(getOptions(1e6, 0.05));
  step.watchdog.beginStep();
  step.watchdog.endStep();
  step.watchdog.beginStep();
  EXPECT_EQ(step.failure.get_future().get(),
            "the step is not done after 0.05 seconds");
  step.watchdog.endStep();
}

TEST(WatchdogTest, ReportsFailuresBeforeTimeIsOver) {
  WatchedStep step(getOptions(1e6, 1e6), /*isHealthy=*/false);
  step.watchdog.beginStep();
  EXPECT_EQ(step.failure.get_future().get(), "a link is down");
  step.watchdog.endStep();
}

using WatchdogDeathTest = testing::Test;

TEST(WatchdogDeathTest, EndsTheProcessIfNothingHelps) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto run = [] {
    Watchdog::Options options = getOptions(0.01, 0.01);
    options.graceSeconds = 0.01;
    WatchedStep step(options);
    step.watchdog.beginStep();
    std::this_thread::sleep_for(std::chrono::hours(1));
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(70),
              "error: the step is not done after 0.01 seconds; the step did "
              "not end after that");
}

// As when a library does not return that was told to end.
TEST(WatchdogDeathTest, EndsTheProcessIfReportingBlocks) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto run = [] {
    Watchdog::Options options = getOptions(0.01, 0.01);
    options.graceSeconds = 0.01;
    Watchdog watchdog(
        options, [] { return Failure(); },
        [](const std::string &) {
          std::this_thread::sleep_for(std::chrono::hours(1));
        });
    watchdog.beginStep();
    std::this_thread::sleep_for(std::chrono::seconds(10));
    std::_Exit(1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(70),
              "the step is not done after 0.01 seconds");
}

//===----------------------------------------------------------------------===//
// The log
//===----------------------------------------------------------------------===//

class CollectiveLogTest : public testing::Test {
protected:
  CollectiveLogTest() {
    collective.kind = RG_ALL_GATHER;
    collective.tag = 9;
    instruction.description = "tg.all_gather at \"step.mlir\":3:5";
    log.setProgress(progress);
  }

  void add(int64_t sequence, int32_t stream) {
    CollectiveEntry entry;
    entry.sequence = sequence;
    entry.stream = stream;
    entry.mark = uint32_t(sequence);
    entry.bytes = 64;
    entry.group = &group;
    entry.collective = &collective;
    entry.instruction = &instruction;
    log.add(entry);
  }
  /// The states in order.
  std::vector<std::string> getStates() const {
    std::vector<std::string> states;
    std::string text = log.getJson("test"), key = "\"state\": \"";
    for (size_t at = text.find(key); at != std::string::npos;
         at = text.find(key, at + 1)) {
      size_t begin = at + key.size();
      states.push_back(text.substr(begin, text.find('"', begin) - begin));
    }
    return states;
  }

  const std::vector<int32_t> group = {1, 3};
  rg_collective collective = {};
  rg_instruction instruction = {};
  StreamProgress progress[2] = {{0, 0}, {0, 0}};
  CollectiveLog log{3, 4};
};

TEST_F(CollectiveLogTest, TellsHowFarStreamsAre) {
  EXPECT_EQ(log.describe(), "rank 3 has no collective in flight");
  log.beginStep();
  add(1, 0);
  add(2, 1);
  add(3, 0);
  EXPECT_EQ(getStates(),
            std::vector<std::string>({"enqueued", "enqueued", "enqueued"}));
  EXPECT_EQ(log.describe(), "rank 3 has not begun collective 1 of group [1, "
                            "3]: tg.all_gather at \"step.mlir\":3:5");
  progress[1].begun = 2;
  progress[0].begun = progress[0].done = 1;
  EXPECT_EQ(getStates(),
            std::vector<std::string>({"done", "running", "enqueued"}));
  progress[0].begun = 3;
  progress[1].done = 2;
  EXPECT_EQ(getStates(), std::vector<std::string>({"done", "done", "running"}));
  EXPECT_EQ(log.describe(), "rank 3 is in collective 3 of group [1, 3]: "
                            "tg.all_gather at \"step.mlir\":3:5");
  log.endStep();
  EXPECT_EQ(getStates(), std::vector<std::string>({"done", "done", "done"}));
}

TEST_F(CollectiveLogTest, KeepsTheLast) {
  log.beginStep();
  for (int64_t i = 1; i <= 6; ++i)
    add(i, 0);
  std::string text = log.getJson("a \"reason\"\n");
  EXPECT_EQ(text.find("\"sequence\": 2,"), std::string::npos);
  EXPECT_LT(text.find("\"sequence\": 3,"), text.find("\"sequence\": 6,"));
  EXPECT_EQ(text.find("{\"rank\": 3, \"step\": 1, \"reason\": \"a "
                      "\\\"reason\\\"\\u000a\", \"collectives\": ["),
            0u);
}

// A step of graphs enqueues nothing by itself.
TEST_F(CollectiveLogTest, TakesCapturedCollectivesForThoseOfAGraph) {
  log.beginStep();
  add(1, 0);
  log.endStep();
  log.beginStep();
  progress[0].begun = 1;
  EXPECT_EQ(getStates(), std::vector<std::string>({"running"}));
}

} // namespace
