//===- DescribeSpans.h - What instructions were, for people -----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_EXECUTION_ENGINES_DESCRIBESPANS_H
#define REGATHER_LIB_EXECUTION_ENGINES_DESCRIBESPANS_H

#include "regather/Execution/Engines/Engine.h"
#include "regather/Runtime/Executor.h"

namespace regather {

/// `count` spans of a step, with what the tables say of their instructions.
std::vector<RunSpan> describeSpans(const rg_program &program,
                                   const rg_span *spans, int64_t count);

} // namespace regather

#endif // REGATHER_LIB_EXECUTION_ENGINES_DESCRIBESPANS_H
