//===- KernelFunction.h - The function that a kernel becomes ----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_TRANSFORMS_KERNELFUNCTION_H
#define REGATHER_KERNEL_TRANSFORMS_KERNELFUNCTION_H

#include "regather/Kernel/Transforms/TilePlan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace regather::kernel {

/// The buffer that holds a tensor.
mlir::MemRefType getBufferType(mlir::RankedTensorType type);

/// Builds the function that computes the tiles [begin, end) of a kernel:
///
///   func.func @kernel(arguments..., results..., %begin, %end)
///
/// Arguments and results are buffers. The tiles are written on tensors, as in
/// the kernel, between buffers.
mlir::func::FuncOp buildKernelFunction(mlir::OpBuilder &builder,
                                       tg::KernelOp kernel,
                                       const TilePlan &plan);

} // namespace regather::kernel

#endif // REGATHER_KERNEL_TRANSFORMS_KERNELFUNCTION_H
