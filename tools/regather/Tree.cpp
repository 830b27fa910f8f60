//===- Tree.cpp - regather tree -------------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandFlags.h"

using namespace regather;
namespace cl = llvm::cl;

cl::SubCommand regather::treeCommand("tree",
                                     "Show what each module of the model does");

static cl::opt<std::string> treeFile(cl::Positional, cl::desc("FILE"),
                                     cl::Required, cl::sub(treeCommand),
                                     cl::cat(getCategory()));
static cl::opt<bool>
    treeJson("json",
             cl::desc("Print one JSON object on stdout; repeated "
                      "modules are not folded"),
             cl::sub(treeCommand), cl::cat(getCategory()));
int regather::treeMain() {
  Result<CommandRequest> request = readCommandFlags(Command::Tree);
  if (!request)
    return reportError(request.getMessage());
  std::unique_ptr<InputFile> input = readInput(treeFile);
  if (!input)
    return 1;
  llvm::FailureOr<ModuleDescription> description =
      describeModules(*input->module, takeModulesRequest(*request, treeFile));
  if (failed(description))
    return 1;
  llvm::outs() << (treeJson ? formatJson(*description, request->depth)
                            : formatText(*description, request->depth,
                                         request->folds));
  return 0;
}
