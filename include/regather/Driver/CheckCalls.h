//===- CheckCalls.h - Records of calls in files --------------- -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DRIVER_CHECKCALLS_H
#define REGATHER_DRIVER_CHECKCALLS_H

#include "regather/Analysis/CallOrder.h"
#include "regather/Support/Result.h"

namespace regather {

/// What was found in the records of the processes of a run.
struct CallCheck {
  /// By number of the record.
  std::vector<std::string> files;
  CallStatistics statistics;
  std::vector<CallFinding> findings;
};

/// Reads the records and proves that the calls in them are ordered; see
/// checkCalls.
Result<CallCheck> checkCallFiles(std::vector<std::string> files);

/// The first `limit` findings, a line for each.
std::string formatFindings(const CallCheck &check, size_t limit);

/// What was looked at, in a line.
std::string formatText(const CallCheck &check);

} // namespace regather

#endif // REGATHER_DRIVER_CHECKCALLS_H
