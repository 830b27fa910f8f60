//===- CheckCalls.cpp - regather check-calls ------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "regather/Driver/CheckCalls.h"

using namespace regather;
namespace cl = llvm::cl;

cl::SubCommand regather::checkCallsCommand(
    "check-calls",
    "Prove that the calls of a run on stand-in libraries are ordered");

static cl::list<std::string> checkedFiles(
    cl::Positional,
    cl::desc("FILE... (what REGATHER_RECORD named, one for each process)"),
    cl::OneOrMore, cl::sub(checkCallsCommand), cl::cat(getCategory()));
static cl::opt<unsigned> findingLimit("limit", cl::desc("Findings to print"),
                                      cl::init(20), cl::sub(checkCallsCommand),
                                      cl::cat(getCategory()));

int regather::checkCallsMain() {
  Result<CallCheck> check =
      checkCallFiles({checkedFiles.begin(), checkedFiles.end()});
  if (!check)
    return reportError(check.getMessage());
  llvm::errs() << formatFindings(*check, findingLimit);
  llvm::outs() << formatText(*check);
  return check->findings.empty() ? 0 : 1;
}
