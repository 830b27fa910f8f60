//===- OrderSearch.h - Local search for an order ----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_ORDERSEARCH_H
#define REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_ORDERSEARCH_H

#include "List.h"

namespace regather::overlap {

/// Improves `order` until it takes at most `bound` seconds or `effort` is
/// spent. The order has to keep to the limits, and so does the result.
Order improveSchedule(const Graph &graph, Order order, const Limits &limits,
                      double bound, uint64_t effort);

} // namespace regather::overlap

#endif // REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_ORDERSEARCH_H
