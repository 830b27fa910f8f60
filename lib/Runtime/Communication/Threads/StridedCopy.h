//===- StridedCopy.h - Copies of boxes of dense tensors ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every collective that only moves data is a set of boxes copied between dense
// tensors, and boxes that are filled with zeros.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_COMMUNICATION_THREADS_STRIDEDCOPY_H
#define REGATHER_LIB_RUNTIME_COMMUNICATION_THREADS_STRIDEDCOPY_H

#include <array>
#include <cstdint>

namespace regather::runtime {

/// A tensor seen with at most two interesting dimensions: sizes of
/// [outer, first, middle, second, inner], where `inner` is in bytes.
using View = std::array<int64_t, 5>;

/// The position of a box in a view and of its first byte.
using Offset = std::array<int64_t, 5>;

/// Copies a box of size `box` at `sourceOffset` in `source`, a tensor of sizes
/// `sourceView`, to `targetOffset` in `target`. Boxes are in bounds; parts that
/// are copied onto themselves are left alone. Linear in the size of the box.
void copyBox(const View &box, const char *source, const View &sourceView,
             const Offset &sourceOffset, char *target, const View &targetView,
             const Offset &targetOffset);

/// Fills a box of `target` with zeros.
void clearBox(const View &box, char *target, const View &targetView,
              const Offset &targetOffset);

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_COMMUNICATION_THREADS_STRIDEDCOPY_H
