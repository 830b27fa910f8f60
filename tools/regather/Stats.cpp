//===- Stats.cpp - regather stats -----------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "regather/Driver/StepStatistics.h"

using namespace regather;
namespace cl = llvm::cl;

cl::SubCommand regather::statsCommand(
    "stats", "Count the operations, collectives and parameters of a module");

static cl::opt<std::string> statsFile(cl::Positional, cl::desc("FILE"),
                                      cl::Required, cl::sub(statsCommand),
                                      cl::cat(getCategory()));
static cl::opt<bool> statsJson("json",
                               cl::desc("Print one JSON object on stdout"),
                               cl::sub(statsCommand), cl::cat(getCategory()));

int regather::statsMain() {
  std::unique_ptr<InputFile> input = readInput(statsFile);
  if (!input)
    return 1;
  StepStatistics stats = collectStatistics(*input->module);
  llvm::outs() << (statsJson ? formatJson(stats, statsFile)
                             : formatText(stats));
  return 0;
}
