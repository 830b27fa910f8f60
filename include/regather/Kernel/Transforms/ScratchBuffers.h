//===- ScratchBuffers.h - Buffers of a kernel in scratch memory -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_TRANSFORMS_SCRATCHBUFFERS_H
#define REGATHER_KERNEL_TRANSFORMS_SCRATCHBUFFERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace regather::kernel {

/// Alignment of scratch memory and of every buffer in it, in bytes.
inline constexpr int64_t kScratchAlignment = 64;

/// The scratch memory of a function.
struct ScratchLayout {
  int64_t bytes = 0;
  /// Where the regions lie that the last arguments of the function point to, in
  /// order. Regions do not overlap.
  llvm::SmallVector<int64_t> offsets;
};

/// Places what `func` allocates in scratch memory. Adds one argument for each
/// region of it. If all buffers together take more than `maxSeparateBytes`,
/// those that are not in use at the same time share a region; else each has
/// one, so that the compiler sees that they are apart. Fails on a buffer whose
/// size or lifetime is not known.
mlir::FailureOr<ScratchLayout> placeInScratch(mlir::func::FuncOp func,
                                              uint64_t maxSeparateBytes);

} // namespace regather::kernel

#endif // REGATHER_KERNEL_TRANSFORMS_SCRATCHBUFFERS_H
