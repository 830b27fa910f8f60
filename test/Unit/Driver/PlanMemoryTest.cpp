//===- PlanMemoryTest.cpp - The search for decisions on several threads ---===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/MemoryPlan.h"
#include "regather/Driver/ReadModule.h"
#include "regather/Pipelines/StepOptionText.h"

#include "gtest/gtest.h"

using namespace regather;

/// What is tried for a step of two ranks within so many bytes, in order, and
/// the number of what is chosen.
static std::vector<std::string> plan(int64_t limit, bool hasThreads) {
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  context->disableMultithreading(!hasThreads);
  llvm::SourceMgr sources;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      readModule(REGATHER_CAPTURE, sources, *context);
  StepOptions options;
  EXPECT_FALSE(setStepOption(options, "mesh", "dp:2", "mesh"));
  options.memory = limit;
  auto found = planStepMemory(*module, options, /*isOpen=*/true);
  if (failed(found))
    return {};
  std::vector<std::string> lines;
  for (const MemoryChoice &choice : found->choices)
    lines.push_back(choice.describe() + ": " +
                    std::to_string(choice.getBytes()) + " bytes, " +
                    std::to_string(choice.hostBytes) + " on the host, " +
                    std::to_string(choice.seconds * 1e12) + " ps");
  lines.push_back(std::to_string(found->chosen));
  return lines;
}

/// Threads decide neither what is tried nor the order in which it counts.
TEST(PlanMemoryTest, ThreadsDecideNothing) {
  constexpr int64_t kLimit = 1900;
  std::vector<std::string> alone = plan(kLimit, /*hasThreads=*/false);
  // All parts of the search have tried something.
  ASSERT_GT(alone.size(), 10u);
  for (unsigned i = 0; i != 3; ++i)
    EXPECT_EQ(plan(kLimit, /*hasThreads=*/true), alone);
}

/// Errors of what was tried on other threads are not heard: only that nothing
/// fits is.
TEST(PlanMemoryTest, OneErrorIfNothingFits) {
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  llvm::SourceMgr sources;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      readModule(REGATHER_CAPTURE, sources, *context);
  std::vector<std::string> errors;
  mlir::ScopedDiagnosticHandler handler(context.get(),
                                        [&](mlir::Diagnostic &diagnostic) {
                                          errors.push_back(diagnostic.str());
                                          return mlir::success();
                                        });
  StepOptions options;
  EXPECT_FALSE(setStepOption(options, "mesh", "dp:2", "mesh"));
  options.memory = 1500;
  EXPECT_TRUE(failed(planStepMemory(*module, options, /*isOpen=*/true)));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors.front().rfind("no plan fits in 1500 bytes", 0), 0u);
}
