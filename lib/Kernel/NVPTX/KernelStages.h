//===- KernelStages.h - Kernels as several launches -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_NVPTX_KERNELSTAGES_H
#define REGATHER_LIB_KERNEL_NVPTX_KERNELSTAGES_H

#include "regather/Kernel/Transforms/TilePlan.h"

namespace regather::nvptx {

/// What one launch of a kernel computes.
struct KernelStage {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// In the module.
  tg::KernelOp kernel;
  /// The buffers that its arguments and results are. Those of the whole kernel
  /// come first, arguments before results, and then the temporaries. An
  /// argument may be the beginning of a buffer.
  llvm::SmallVector<unsigned> arguments, results;
  kernel::TilePlan plan;
};

/// A kernel as stages that follow each other.
struct KernelStages {
  std::vector<KernelStage> stages;
  /// What stages hand on that is no result of the kernel.
  llvm::SmallVector<mlir::RankedTensorType> temporaries;
};

/// Divides a kernel into stages that can be cut into blocks: one, if that is
/// possible and no reduction needs two. Changes the module that the kernel is
/// in, in a way that does not change what it computes.
mlir::FailureOr<KernelStages> planStages(tg::KernelOp kernel,
                                         const kernel::TileLimits &limits);

} // namespace regather::nvptx

#endif // REGATHER_LIB_KERNEL_NVPTX_KERNELSTAGES_H
