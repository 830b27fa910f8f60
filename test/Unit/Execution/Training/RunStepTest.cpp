//===- RunStepTest.cpp - Runs as values -----------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Training/RunStep.h"

#include "gtest/gtest.h"

using namespace regather;

namespace {
/// Has nothing to compute, and fails in one of its steps.
class IdleEngine : public Engine {
public:
  explicit IdleEngine(int64_t failsAt) : failsAt(failsAt) {}

  std::string getName() const override { return "idle"; }
  bool run(std::vector<RankValues> &arguments,
           std::vector<RankValues> &results) override {
    results.assign(arguments.size(), {});
    return steps++ != failsAt;
  }

private:
  int64_t failsAt;
  int64_t steps = 0;
};

/// Writes down what it hears, and ends a run after some steps.
class Recorder : public RunListener {
public:
  explicit Recorder(size_t lastStep) : lastStep(lastStep) {}

  void begin() override { heard += "begin "; }
  void finishStep(int64_t index, std::optional<double>, double) override {
    heard += std::to_string(index) + ' ';
    ++steps;
  }
  bool shouldStop() override { return steps == lastStep; }
  void end() override { heard += "end"; }

  std::string heard;

private:
  size_t lastStep;
  size_t steps = 0;
};

struct RunStepTest : testing::Test {
  Result<RunReport> run(RunListener &listener, int64_t failsAt = -1) {
    RunSubject subject;
    subject.step.entry = "step";
    subject.createEngine = [this,
                            failsAt]() -> Result<std::unique_ptr<Engine>> {
      isCreated = true;
      return std::unique_ptr<Engine>(std::make_unique<IdleEngine>(failsAt));
    };
    options.file = "step.mlir";
    options.steps = 4;
    return runStep(options, subject, listener);
  }

  RunOptions options;
  bool isCreated = false;
};
} // namespace

TEST_F(RunStepTest, AllSteps) {
  Recorder recorder(/*lastStep=*/100);
  testing::internal::CaptureStdout();
  Result<RunReport> report = run(recorder);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  ASSERT_TRUE(report) << report.getMessage();
  EXPECT_EQ(recorder.heard, "begin 0 1 2 3 end");
  EXPECT_EQ(report->seconds.size(), 4u);
  EXPECT_EQ(report->engine, "idle");
  EXPECT_EQ(report->entry, "step");
  EXPECT_FALSE(report->isStopped);
}

TEST_F(RunStepTest, EndedByTheListener) {
  Recorder recorder(/*lastStep=*/2);
  Result<RunReport> report = run(recorder);
  ASSERT_TRUE(report) << report.getMessage();
  EXPECT_EQ(recorder.heard, "begin 0 1 end");
  EXPECT_EQ(report->seconds.size(), 2u);
  EXPECT_TRUE(report->isStopped);
}

/// The engine has said why, so there is no message.
TEST_F(RunStepTest, EngineThatFails) {
  Recorder recorder(/*lastStep=*/100);
  Result<RunReport> report = run(recorder, /*failsAt=*/1);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.getMessage(), "");
  EXPECT_EQ(recorder.heard, "begin 0 end");
}

/// Before there is an engine, which takes long to make.
TEST_F(RunStepTest, OutputThatCannotBeWritten) {
  options.outputs = "/nowhere/x";
  Recorder recorder(/*lastStep=*/100);
  Result<RunReport> report = run(recorder);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.getMessage(),
            "cannot write '/nowhere/x': No such file or directory");
  EXPECT_FALSE(isCreated);
  EXPECT_EQ(recorder.heard, "");
}
