//===- KernelLowering.h - Tensors to the LLVM dialect -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_CPU_KERNELLOWERING_H
#define REGATHER_LIB_KERNEL_CPU_KERNELLOWERING_H

#include "regather/Kernel/Transforms/ScratchBuffers.h"

#include "mlir/IR/BuiltinOps.h"

namespace regather::cpu {

/// Lowers a module that holds one kernel function
/// (`kernel::buildKernelFunction`) to the LLVM dialect. The function gets the
/// regions of its scratch memory as last arguments and returns 0, or 1 if an
/// index is out of bounds. Each reduction runs in an order that its shape
/// decides; nothing is contracted.
mlir::FailureOr<kernel::ScratchLayout>
lowerKernelFunction(mlir::ModuleOp module);

} // namespace regather::cpu

#endif // REGATHER_LIB_KERNEL_CPU_KERNELLOWERING_H
