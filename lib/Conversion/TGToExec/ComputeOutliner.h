//===- ComputeOutliner.h - Kernels for single operations --------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_CONVERSION_TGTOEXEC_COMPUTEOUTLINER_H
#define REGATHER_LIB_CONVERSION_TGTOEXEC_COMPUTEOUTLINER_H

#include "UnsupportedOps.h"

#include "regather/Dialect/TG/Kernels/KernelTable.h"

namespace regather {

/// Makes a launch of every operation of a step that computes and is not one,
/// each with a kernel of its own. Scalars enter and leave kernels as tensors of
/// rank 0. What is left are launches, collectives, waits, constants, views that
/// move no bytes, conversions between scalars and tensors of rank 0, and
/// `scf.if` and `scf.for` around collectives.
class ComputeOutliner {
public:
  ComputeOutliner(mlir::func::FuncOp func, UnsupportedOps &unsupported);

  void run();

  int64_t getNumOutlined() const { return numOutlined; }

private:
  void runOnBlock(mlir::Block &block);
  bool canRepeat(mlir::Operation *op);
  void outline(mlir::Operation *op);

  mlir::func::FuncOp func;
  UnsupportedOps &unsupported;
  tg::KernelTable kernels;
  /// Of the blocks around the current operation.
  llvm::DenseSet<mlir::Operation *> repeatedOps;
  int64_t numOutlined = 0;
};

/// True for a conversion between a scalar and a tensor of rank 0, both of which
/// a program has in one buffer.
bool isScalarCast(mlir::Operation *op);

} // namespace regather

#endif // REGATHER_LIB_CONVERSION_TGTOEXEC_COMPUTEOUTLINER_H
