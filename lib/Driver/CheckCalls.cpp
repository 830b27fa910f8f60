//===- CheckCalls.cpp - Records of calls in files -------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/CheckCalls.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace regather;
using llvm::formatv;

Result<CallCheck> regather::checkCallFiles(std::vector<std::string> files) {
  std::vector<std::vector<RecordedCall>> records;
  for (const std::string &file : files) {
    auto buffer = llvm::MemoryBuffer::getFile(file);
    if (!buffer)
      return Failure("cannot read '" + file +
                     "': " + buffer.getError().message());
    auto calls = parseCalls((*buffer)->getBuffer());
    if (!calls)
      return Failure("'" + file + "': " + llvm::toString(calls.takeError()));
    records.push_back(std::move(*calls));
  }
  CallCheck check;
  check.files = std::move(files);
  check.findings = checkCalls(records, &check.statistics);
  return check;
}

std::string regather::formatFindings(const CallCheck &check, size_t limit) {
  std::string text;
  for (const CallFinding &finding :
       llvm::ArrayRef(check.findings).take_front(limit))
    text += formatv("{0}:{1}: error: {2} [{3}]\n", check.files[finding.record],
                    finding.line, finding.message, getKindName(finding.kind));
  return text;
}

std::string regather::formatText(const CallCheck &check) {
  const CallStatistics &statistics = check.statistics;
  return formatv("{0} calls on {1} streams, {2} launches of graphs with {3} "
                 "calls: {4} findings\n",
                 statistics.calls, statistics.streams, statistics.graphLaunches,
                 statistics.replayedCalls, check.findings.size());
}
