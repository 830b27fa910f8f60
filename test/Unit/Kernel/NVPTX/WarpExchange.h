//===- WarpExchange.h - Instructions of a warp on the CPU -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_UNIT_KERNEL_NVPTX_WARPEXCHANGE_H
#define REGATHER_TEST_UNIT_KERNEL_NVPTX_WARPEXCHANGE_H

#include "MemoryMonitor.h"

#include "llvm/ADT/ArrayRef.h"

#include <array>

namespace regather::nvptx {

/// What a lane brings to an instruction that all lanes of its warp carry out
/// together, and what it gets.
struct LaneExchange {
  enum class Kind {
    /// shfl.sync.bfly.
    Shuffle,
    /// ldmatrix.m8n8.x4, and with .trans.
    LoadMatrices,
    LoadTransposed,
    /// mma.m16n8k16 of bf16 and of f16, with sums of f32.
    MultiplyBF16,
    MultiplyF16
  };

  Kind kind = Kind::Shuffle;
  /// A value and the distance of the lane, an address, or the registers of the
  /// factors and sums.
  std::array<int64_t, 10> sent = {};
  std::array<int64_t, 4> received = {};
};

/// Carries out the instruction of all 32 lanes, the first of which is thread
/// `firstThread`. False if they do not all have the same, or if an access to
/// memory is wrong.
bool exchange(llvm::ArrayRef<LaneExchange *> lanes, int64_t firstThread,
              MemoryMonitor &monitor);

} // namespace regather::nvptx

#endif // REGATHER_TEST_UNIT_KERNEL_NVPTX_WARPEXCHANGE_H
