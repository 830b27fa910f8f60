//===- ScratchLayout.h - Scratch memory of a function -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_TRANSFORMS_SCRATCHLAYOUT_H
#define REGATHER_KERNEL_TRANSFORMS_SCRATCHLAYOUT_H

#include "mlir/IR/Operation.h"

namespace regather::kernel {

/// Alignment of scratch memory and of every buffer in it, in bytes.
inline constexpr int64_t kScratchAlignment = 64;

/// The scratch memory of a function, as its attributes say.
struct ScratchLayout {
  int64_t bytes = 0;
  /// Where the regions lie that the last arguments of the function point to, in
  /// order. Regions do not overlap.
  llvm::SmallVector<int64_t> offsets;
};

/// What kernel-place-scratch has left on a function, which may have become one
/// of another dialect since; nothing if the function needs no such memory.
ScratchLayout getScratch(mlir::Operation *func);
void setScratch(mlir::Operation *func, const ScratchLayout &layout);

} // namespace regather::kernel

#endif // REGATHER_KERNEL_TRANSFORMS_SCRATCHLAYOUT_H
