//===- ThreadDistribution.h - Kernels on the threads of blocks --*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_NVPTX_THREADDISTRIBUTION_H
#define REGATHER_LIB_KERNEL_NVPTX_THREADDISTRIBUTION_H

#include "ThreadLoops.h"

namespace regather::nvptx {

/// Shares the work of a function among the threads of each block. All threads
/// run the control flow, views and numbers of the function; each computes its
/// part of the linalg operations; one of them stores single elements. Barriers
/// separate an operation from those before it that touch the same memory.
mlir::LogicalResult distributeOverThreads(ThreadBlock &block);

/// The threads that the function can make use of, a power of two.
int64_t countUsefulThreads(mlir::Operation *func);

} // namespace regather::nvptx

#endif // REGATHER_LIB_KERNEL_NVPTX_THREADDISTRIBUTION_H
