//===- RowSums.h - The order of sums to one number --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum of many elements to one number is the sum of sums of rows: these can be
// divided among threads, and computed with what makes the elements. What a row
// is depends on the shape alone, so the order, and with it every bit, depends
// on no schedule, fusion or thread.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_KERNELS_ROWSUMS_H
#define REGATHER_DIALECT_TG_KERNELS_ROWSUMS_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>

namespace regather::tg {

/// Elements below which a sum stays one: to hand out work costs more.
inline constexpr int64_t kMinRowSumElements = 1 << 16;

/// Rows, and elements of a row, that a division must at least have.
inline constexpr int64_t kMinRowSums = 64;

/// The number of leading dimensions that tell rows apart, when all elements of
/// a tensor of static `shape` are summed: the fewest that make enough rows. 0
/// if all are summed at once. The sums of rows are then added as a tensor of
/// that many dimensions, by the same rule. Linear in the rank.
int64_t getNumRowDims(llvm::ArrayRef<int64_t> shape);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_KERNELS_ROWSUMS_H
