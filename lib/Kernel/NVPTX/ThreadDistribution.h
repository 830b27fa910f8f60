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

/// The threads that the function can make use of, a power of two.
int64_t countUsefulThreads(mlir::Operation *func);

} // namespace regather::nvptx

#endif // REGATHER_LIB_KERNEL_NVPTX_THREADDISTRIBUTION_H
