//===- CheckCalls.cpp - regather check-calls ------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "regather/Analysis/CallOrder.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace regather;
namespace cl = llvm::cl;

cl::SubCommand regather::checkCallsCommand(
    "check-calls",
    "Prove that the calls of a run on stand-in libraries are ordered");

static cl::list<std::string> files(
    cl::Positional,
    cl::desc("FILE... (what REGATHER_RECORD named, one for each process)"),
    cl::OneOrMore, cl::sub(checkCallsCommand), cl::cat(getCategory()));
static cl::opt<unsigned> limit("limit", cl::desc("Findings to print"),
                               cl::init(20), cl::sub(checkCallsCommand),
                               cl::cat(getCategory()));

int regather::checkCallsMain() {
  std::vector<std::vector<RecordedCall>> records;
  for (const std::string &file : files) {
    auto buffer = llvm::MemoryBuffer::getFile(file);
    if (!buffer)
      return reportError("cannot read '" + file +
                         "': " + buffer.getError().message());
    auto calls = parseCalls((*buffer)->getBuffer());
    if (!calls)
      return reportError("'" + file +
                         "': " + llvm::toString(calls.takeError()));
    records.push_back(std::move(*calls));
  }
  CallStatistics statistics;
  std::vector<CallFinding> findings = checkCalls(records, &statistics);
  for (const CallFinding &finding :
       llvm::ArrayRef(findings).take_front(limit.getValue()))
    llvm::errs() << llvm::formatv("{0}:{1}: error: {2} [{3}]\n",
                                  files[finding.record], finding.line,
                                  finding.message, getKindName(finding.kind));
  llvm::outs() << llvm::formatv(
      "{0} calls on {1} streams, {2} launches of graphs with {3} calls: {4} "
      "findings\n",
      statistics.calls, statistics.streams, statistics.graphLaunches,
      statistics.replayedCalls, findings.size());
  return findings.empty() ? 0 : 1;
}
