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

/// The given order, but with each wait right behind its start.
Order computeBlockingOrder(const Graph &graph);
/// An order that needs little memory, with each wait right behind its start: an
/// operation that takes memory comes right before its first use, one that
/// releases memory as soon as it can.
Order computeFrugalOrder(const Graph &graph);
/// The best of several such orders, which differ in what they take to be the
/// last user of a buffer. Some of them hardly depend on the given order. O(n
/// log n).
Order computeLeastMemoryOrder(const Graph &graph);

} // namespace regather::overlap

#endif // REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_ORDERS_H
