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

static cl::opt<std::string> file(cl::Positional, cl::desc("FILE"), cl::Required,
                                 cl::sub(simulateCommand),
                                 cl::cat(getCategory()));
static cl::opt<std::string>
    tracePath("trace", cl::desc("Write the timeline for Perfetto, as JSON"),
              cl::value_desc("FILE"), cl::sub(simulateCommand),
              cl::cat(getCategory()));
static cl::opt<std::string>
    pagePath("timeline", cl::desc("Write a page with a picture, as HTML"),
             cl::value_desc("FILE"), cl::sub(simulateCommand),
             cl::cat(getCategory()));
static cl::opt<std::string> jsonPath("json",
                                     cl::desc("Write all numbers, as JSON"),
                                     cl::value_desc("FILE"),
                                     cl::sub(simulateCommand),
                                     cl::cat(getCategory()));

/// Writes the files that are asked for; true if that was possible.
static bool writeFiles(const Prediction &prediction) {
  if (!tracePath.empty() && !writeFile(tracePath, formatTrace(prediction)))
    return false;
  if (!pagePath.empty() && !writeFile(pagePath, formatPage(prediction)))
    return false;
  return jsonPath.empty() ||
         writeFile(jsonPath, formatJson(*prediction.summary));
}

int regather::simulateMain() {
  if (!canWrite({&tracePath, &pagePath, &jsonPath}))
    return 1;
  Result<CommandRequest> request = readCommandFlags(Command::Simulate);
  if (!request)
    return reportError(request.getMessage());
  std::unique_ptr<InputFile> input = readInput(file);
  if (!input)
    return 1;
  std::unique_ptr<Prediction> prediction = predictStep(
      *input->module, takeSimulateRequest(std::move(*request), file));
  if (!prediction || !writeFiles(*prediction))
    return 1;
  llvm::outs() << formatText(*prediction->summary);
  return 0;
}
