//===- StepSplitter.h - Two functions of one step ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_PARTITION_STEPSPLITTER_H
#define REGATHER_DIALECT_TG_TRANSFORMS_PARTITION_STEPSPLITTER_H

#include "regather/Dialect/TG/Steps/StepGraph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace regather::tg::partition {

/// The forward values that operations of backward read, each once, in program
/// order.
llvm::SmallVector<mlir::Value> findCrossing(const StepGraph &graph);

/// Replaces `step` by the functions `forward` and `backward`. Both take the
/// arguments of the step, so that roles keep their numbers; each returns the
/// results that it computes (forward also those that are arguments); besides,
/// forward returns what crosses, and backward takes it, with role saved. Emits
/// an error if one of the names is taken, or if a forward operation reads a
/// value of backward.
mlir::LogicalResult splitStep(mlir::func::FuncOp step);

} // namespace regather::tg::partition

#endif // REGATHER_DIALECT_TG_TRANSFORMS_PARTITION_STEPSPLITTER_H
