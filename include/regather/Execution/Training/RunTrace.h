//===- RunTrace.h - What the ranks did in a step ----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_TRAINING_RUNTRACE_H
#define REGATHER_EXECUTION_TRAINING_RUNTRACE_H

#include "regather/Execution/Engines/Engine.h"

namespace regather {

/// The spans of each rank in the format of Chrome and Perfetto: a process for
/// each rank, in it a track for computation and one for each stream that
/// communicates. Times are in microseconds.
std::string formatTrace(const std::vector<std::vector<RunSpan>> &ranks);

} // namespace regather

#endif // REGATHER_EXECUTION_TRAINING_RUNTRACE_H
