//===- LaneLoops.h - Loops for reductions in lanes --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_CPU_LANELOOPS_H
#define REGATHER_LIB_KERNEL_CPU_LANELOOPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace regather::cpu {

/// Replaces structured operations on buffers that reduce in lanes
/// (`LaneReduction.h`) by loops. The lanes are one vector where all that a step
/// reads is contiguous or the same for all steps, else an array.
void lowerLaneReductions(mlir::func::FuncOp func);

} // namespace regather::cpu

#endif // REGATHER_LIB_KERNEL_CPU_LANELOOPS_H
