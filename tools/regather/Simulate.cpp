//===- Simulate.cpp - regather simulate -----------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepFlags.h"

#include "regather/Driver/SimulateStep.h"

using namespace regather;
namespace cl = llvm::cl;

cl::SubCommand
    regather::simulateCommand("simulate",
                              "Predict the timeline of a step on a cluster");

static cl::opt<std::string> file(cl::Positional, cl::desc("FILE"), cl::Required,
                                 cl::sub(simulateCommand),
                                 cl::cat(getCategory()));
static cl::opt<std::string>
    orderPath("order",
              cl::desc("Operations of the step in another order: their names, "
                       "one on each line or in a JSON list"),
              cl::value_desc("FILE"), cl::sub(simulateCommand),
              cl::cat(getCategory()));
static cl::opt<bool>
    takesKernels("kernels",
                 cl::desc("Simulate kernels instead of single operations"),
                 cl::sub(simulateCommand), cl::cat(getCategory()));
static cl::opt<bool> overlapGroups(
    "overlap-groups",
    cl::desc("Let collectives be in flight together whose groups share more "
             "than one device; say so only if the library allows it"),
    cl::sub(simulateCommand), cl::cat(getCategory()));
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

/// What a function writes to a stream.
static std::string
getText(llvm::function_ref<void(llvm::raw_ostream &)> write) {
  std::string text;
  llvm::raw_string_ostream os(text);
  write(os);
  return text;
}

static bool writeFiles(const Prediction &prediction) {
  const SimulationSummary &summary = *prediction.summary;
  const SimulatedStep &step = prediction.step;
  std::vector<Timeline> timelines = prediction.makeTimelines();
  auto write = [](const std::string &path,
                  llvm::function_ref<void(llvm::raw_ostream &)> print) {
    return path.empty() || writeFile(path, getText(print));
  };
  return write(tracePath,
               [&](llvm::raw_ostream &os) {
                 writeTrace(os, timelines, step.program, step.ops);
               }) &&
         write(pagePath,
               [&](llvm::raw_ostream &os) {
                 writeTimelinePage(os, makePage(summary),
                                   timelines[summary.rankClass], step.ops);
               }) &&
         write(jsonPath,
               [&](llvm::raw_ostream &os) { printJson(os, summary); });
}

int regather::simulateMain() {
  if (!canWrite({&tracePath, &pagePath, &jsonPath}))
    return 1;
  Result<StepOptions> options = readStepFlags();
  if (!options)
    return reportError(options.getMessage());
  if (!orderPath.empty() && isScheduleGiven())
    return reportError("--schedule has no effect with --order");
  std::unique_ptr<InputFile> input = readInput(file);
  if (!input)
    return 1;
  SimulateRequest request;
  request.file = file;
  request.step = std::move(*options);
  request.step.overlapsGroups = overlapGroups;
  request.takesKernels = takesKernels;
  request.orderFile = orderPath;
  std::unique_ptr<Prediction> prediction = predictStep(*input->module, request);
  if (!prediction || !writeFiles(*prediction))
    return 1;
  printText(llvm::outs(), *prediction->summary);
  return 0;
}
