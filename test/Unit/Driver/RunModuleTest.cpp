//===- RunModuleTest.cpp - Runs without a command line --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/RunModule.h"

#include "regather/Driver/ReadModule.h"

#include "mlir/IR/Diagnostics.h"

#include "gtest/gtest.h"

using namespace regather;

namespace {
class RunModuleTest : public testing::Test {
protected:
  RunModuleTest() { request.flags.options.inputs.randomSeed = 1; }

  /// The report. If the run fails, `messages` has the diagnostics.
  llvm::FailureOr<RunReport> run() {
    std::unique_ptr<mlir::MLIRContext> context = createContext();
    mlir::ScopedDiagnosticHandler handler(
        context.get(), [this](mlir::Diagnostic &diagnostic) {
          messages.push_back(diagnostic.str());
          return mlir::success();
        });
    llvm::SourceMgr sources;
    mlir::OwningOpRef<mlir::ModuleOp> module =
        readModule(REGATHER_EXAMPLE, sources, *context);
    ProgressListener progress;
    return runModule(*module, request, listener, progress);
  }

  /// Counts what it hears.
  struct : RunListener {
    void finishStep(int64_t, std::optional<double>, double) override {
      ++numSteps;
    }
    int64_t numSteps = 0;
  } listener;
  RunRequest request;
  std::vector<std::string> messages;
};
} // namespace

TEST_F(RunModuleTest, ReportsAndPrintsNothing) {
  request.flags.options.steps = 2;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  llvm::FailureOr<RunReport> compiled = run();
  request.flags.engine = EngineKind::Interpreter;
  llvm::FailureOr<RunReport> interpreted = run();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(messages, std::vector<std::string>());
  ASSERT_TRUE(succeeded(compiled) && succeeded(interpreted));
  EXPECT_EQ(compiled->losses.size(), 2u);
  EXPECT_EQ(compiled->losses, interpreted->losses);
  EXPECT_EQ(compiled->engine, "cpu");
  EXPECT_EQ(interpreted->engine, "interpreter");
  EXPECT_EQ(listener.numSteps, 4);
}

/// Inputs are looked at after the step has been prepared.
TEST_F(RunModuleTest, SaysWhatIsWrongWithInputs) {
  request.flags.options.inputs.randomSeed.reset();
  EXPECT_TRUE(failed(run()));
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages.front().find("8 of 8 arguments have no value"),
            std::string::npos)
      << messages.front();
  EXPECT_EQ(listener.numSteps, 0);
}

/// The step lies over a mesh of four ranks.
TEST_F(RunModuleTest, SaysWhatIsWrongWithTheStep) {
  request.step.ranks = 3;
  EXPECT_TRUE(failed(run()));
  EXPECT_FALSE(messages.empty());
  EXPECT_EQ(listener.numSteps, 0);
}
