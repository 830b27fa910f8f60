//===- Simulate.cpp - regather simulate -----------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandFlags.h"

using namespace regather;
namespace cl = llvm::cl;

cl::SubCommand
    regather::simulateCommand("simulate",
                              "Predict the timeline of a step on a cluster");

static cl::opt<std::string> simulateFile(cl::Positional, cl::desc("FILE"),
                                         cl::Required, cl::sub(simulateCommand),
                                         cl::cat(getCategory()));
static cl::opt<std::string> simulateTracePath(
    "trace", cl::desc("Write the timeline for Perfetto, as JSON"),
    cl::value_desc("FILE"), cl::sub(simulateCommand), cl::cat(getCategory()));
static cl::opt<std::string> simulatePagePath(
    "timeline", cl::desc("Write a page with a picture, as HTML"),
    cl::value_desc("FILE"), cl::sub(simulateCommand), cl::cat(getCategory()));
static cl::opt<std::string>
    simulateJsonPath("json", cl::desc("Write all numbers, as JSON"),
                     cl::value_desc("FILE"), cl::sub(simulateCommand),
                     cl::cat(getCategory()));

/// Writes the files that are asked for; true if that was possible.
static bool writeFiles(const Prediction &prediction) {
  if (!simulateTracePath.empty() &&
      !writeFile(simulateTracePath, formatTrace(prediction)))
    return false;
  if (!simulatePagePath.empty() &&
      !writeFile(simulatePagePath, formatPage(prediction)))
    return false;
  return simulateJsonPath.empty() ||
         writeFile(simulateJsonPath, formatJson(*prediction.summary));
}

int regather::simulateMain() {
  if (!canWrite({&simulateTracePath, &simulatePagePath, &simulateJsonPath}))
    return 1;
  Result<CommandRequest> request = readCommandFlags(Command::Simulate);
  if (!request)
    return reportError(request.getMessage());
  std::unique_ptr<InputFile> input = readInput(simulateFile);
  if (!input)
    return 1;
  std::unique_ptr<Prediction> prediction = predictStep(
      *input->module, takeSimulateRequest(std::move(*request), simulateFile));
  if (!prediction || !writeFiles(*prediction))
    return 1;
  llvm::outs() << formatText(*prediction->summary);
  return 0;
}
