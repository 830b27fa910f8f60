//===- Orders.h - Orders that need little memory ----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_ORDERS_H
#define REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_ORDERS_H

#include "ScheduleGraph.h"

namespace regather::overlap {

/// The given order with each wait right behind its start.
Order computeBlockingOrder(const Graph &graph);
/// An order of little memory, with each wait right behind its start: what takes
/// memory comes right before its first use, what releases memory as soon as it
/// can.
Order computeFrugalOrder(const Graph &graph);
/// Of several such orders that go by who is the last to use something, the one
/// that takes least. Some of them hardly depend on the given order. O(n log n).
Order computeLeastMemoryOrder(const Graph &graph);

} // namespace regather::overlap

#endif // REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_ORDERS_H
