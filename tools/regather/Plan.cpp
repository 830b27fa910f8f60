//===- Plan.cpp - regather plan -------------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandFlags.h"

using namespace regather;
namespace cl = llvm::cl;

cl::SubCommand regather::planCommand("plan",
                                     "Look for the quickest mesh of a cluster");

static cl::opt<std::string> planFile(cl::Positional, cl::desc("FILE"),
                                     cl::sub(planCommand),
                                     cl::cat(getCategory()));
static cl::opt<std::string> planJsonPath("json",
                                         cl::desc("Write all numbers, as JSON"),
                                         cl::value_desc("FILE"),
                                         cl::sub(planCommand),
                                         cl::cat(getCategory()));
static cl::opt<std::string>
    planPagePath("report", cl::desc("Write a page with a picture, as HTML"),
                 cl::value_desc("FILE"), cl::sub(planCommand),
                 cl::cat(getCategory()));
static cl::list<std::string> comparedPlans(
    "diff",
    cl::desc("Say what differs between two files of --json, given as "
             "--diff=BEFORE --diff=AFTER, instead of planning"),
    cl::value_desc("FILE"), cl::sub(planCommand), cl::cat(getCategory()));

static int compareMain() {
  if (comparedPlans.size() != 2 || !planFile.empty())
    return reportError("--diff takes two files, as --diff=BEFORE --diff=AFTER, "
                       "and no step");
  std::unique_ptr<llvm::MemoryBuffer> texts[2];
  for (unsigned i = 0; i != 2; ++i) {
    auto read = llvm::MemoryBuffer::getFile(comparedPlans[i]);
    if (!read)
      return reportError("cannot open '" + comparedPlans[i] +
                         "': " + read.getError().message());
    texts[i] = std::move(*read);
  }
  Result<std::string> text =
      comparePlans(texts[0]->getBuffer(), texts[1]->getBuffer());
  if (!text)
    return reportError("cannot compare '" + comparedPlans[0] + "' and '" +
                       comparedPlans[1] + "': " + text.getMessage());
  llvm::outs() << *text;
  return 0;
}

int regather::planMain() {
  if (!comparedPlans.empty())
    return compareMain();
  if (planFile.empty())
    return reportError("expects the file of a step");
  if (!canWrite({&planJsonPath, &planPagePath}))
    return 1;
  Result<CommandRequest> request = readCommandFlags(Command::Plan);
  if (!request)
    return reportError(request.getMessage());
  if (!request->step.ranks)
    return reportError("plan needs --ranks, the number of ranks to plan for");
  std::unique_ptr<InputFile> input = readInput(planFile);
  if (!input)
    return 1;
  ShownProgress progress;
  mlir::FailureOr<MeshSearch> search = planMeshes(
      *input->module, takePlanRequest(std::move(*request), planFile), progress);
  if (failed(search))
    return 1;
  if (!planJsonPath.empty() && !writeFile(planJsonPath, formatJson(*search)))
    return 1;
  if (!planPagePath.empty() && !writeFile(planPagePath, formatPage(*search)))
    return 1;
  llvm::outs() << formatText(*search);
  if (search->problem.empty())
    return 0;
  llvm::outs().flush();
  return reportError(search->problem);
}
