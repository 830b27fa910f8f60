//===- TimedArrays.h - Timed graphs as flat arrays --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_CAPI_TIMEDARRAYS_H
#define REGATHER_LIB_CAPI_TIMEDARRAYS_H

#include "regather-c/Schedule.h"

#include "regather/Analysis/TimedGraph.h"
#include "regather/Support/Result.h"

namespace regather::capi {

/// `count` lists with ascending begins, whose elements are below `limit`. What
/// is malformed is a failure, which calls the lists `what`.
Result<IndexLists> readLists(const RegatherLists &lists, uint32_t count,
                             uint32_t limit, const char *what);

/// A graph that scheduleOverlap takes, or what is malformed about it.
Result<TimedGraph> readTimedGraph(const RegatherTimedArrays &arrays);

} // namespace regather::capi

#endif // REGATHER_LIB_CAPI_TIMEDARRAYS_H
