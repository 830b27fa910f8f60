//===- ResultBuffers.h - Compute results where they belong ------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_TRANSFORMS_RESULTBUFFERS_H
#define REGATHER_LIB_KERNEL_TRANSFORMS_RESULTBUFFERS_H

#include "mlir/IR/BuiltinOps.h"

namespace regather::kernel {

/// Replaces `tensor.empty` by the result of the kernel that the value ends in,
/// so that bufferization needs no buffer and no copy for it. Leaves values
/// alone that something else may overwrite on the way.
mlir::LogicalResult computeInResults(mlir::ModuleOp module);

} // namespace regather::kernel

#endif // REGATHER_LIB_KERNEL_TRANSFORMS_RESULTBUFFERS_H
