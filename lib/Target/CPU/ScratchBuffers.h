//===- ScratchBuffers.h - Buffers of a kernel in scratch memory -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_TARGET_CPU_SCRATCHBUFFERS_H
#define REGATHER_LIB_TARGET_CPU_SCRATCHBUFFERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace regather::cpu {

/// Alignment of scratch memory and of every buffer in it, in bytes.
inline constexpr int64_t kScratchAlignment = 64;

/// Adds a last argument, scratch memory, to `func` and places what the function
/// allocates in it; buffers that are not in use at the same time may share
/// their bytes. The bytes that are needed, at least 1. Fails on a buffer whose
/// size is not known.
mlir::FailureOr<int64_t> placeInScratch(mlir::func::FuncOp func);

} // namespace regather::cpu

#endif // REGATHER_LIB_TARGET_CPU_SCRATCHBUFFERS_H
