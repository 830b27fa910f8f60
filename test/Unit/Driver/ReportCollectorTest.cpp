//===- ReportCollectorTest.cpp - Reports of one context -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/ReportCollector.h"

#include "regather/Driver/Clusters.h"
#include "regather/Driver/ReadModule.h"
#include "regather/Pipelines/StepOptionText.h"
#include "regather/Report/RenderReport.h"

#include "gtest/gtest.h"

using namespace regather;

namespace {
/// A step, and what is to be decided about it.
class ReportCollectorTest : public testing::Test {
protected:
  ReportCollectorTest() {
    options.entry = "step";
    for (auto [name, text] : {std::pair("bucket", "mode=auto"),
                              {"reshard", "always"},
                              {"schedule", "auto"}})
      EXPECT_FALSE(setStepOption(options, name, text, name));
    options.cluster = "h100-8";
    for (mlir::OwningOpRef<mlir::ModuleOp> &module : modules)
      module = readModule(REGATHER_EXAMPLE, sources, *context);
  }

  ReportCollector makeCollector(mlir::ModuleOp module) {
    return ReportCollector(module, *loadChosenCluster(module, options));
  }

  std::unique_ptr<mlir::MLIRContext> context = createContext();
  llvm::SourceMgr sources;
  mlir::OwningOpRef<mlir::ModuleOp> modules[2];
  StepOptions options;
};
} // namespace

/// Each hears the passes on its own step, whatever else is reported meanwhile.
TEST_F(ReportCollectorTest, TwoAtATime) {
  ReportCollector first = makeCollector(*modules[0]);
  ReportCollector second = makeCollector(*modules[1]);
  auto firstStep = first.prepare(*modules[0], options);
  auto secondStep = second.prepare(*modules[1], options);
  ASSERT_TRUE(succeeded(firstStep) && succeeded(secondStep));
  auto firstReport = first.collect("step.mlir", *firstStep);
  auto secondReport = second.collect("step.mlir", *secondStep);
  ASSERT_TRUE(succeeded(firstReport) && succeeded(secondReport));
  // Of the passes that prepare a step, and of the order of its kernels.
  std::vector<std::string> passes;
  for (const report::Decision &decision : firstReport->decisions)
    if (passes.empty() || passes.back() != decision.pass)
      passes.push_back(decision.pass);
  EXPECT_EQ(passes,
            (std::vector<std::string>{"tg-bucket-collectives", "tg-schedule"}));
  EXPECT_EQ(renderJson(*firstReport), renderJson(*secondReport));
}

/// Nobody listens when a report is done.
TEST_F(ReportCollectorTest, LeavesTheContextAlone) {
  ASSERT_TRUE(succeeded(reportStep(*modules[0], "step.mlir", options)));
  EXPECT_EQ(context->getRemarkEngine(), nullptr);
}
