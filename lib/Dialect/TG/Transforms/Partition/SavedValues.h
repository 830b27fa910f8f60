//===- SavedValues.h - What forward hands to backward -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_PARTITION_SAVEDVALUES_H
#define REGATHER_DIALECT_TG_TRANSFORMS_PARTITION_SAVEDVALUES_H

#include "regather/Analysis/Recomputation/MinimumCut.h"
#include "regather/Dialect/TG/Chains/ParameterChains.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace regather::tg::partition {

/// A step about which a partition decides.
struct Step {
  mutable mlir::FunctionOpInterface func;
  const StepGraph &graph;
  const ParameterChains &chains;
};

/// The decision of a partition: of the forward values that backward needs,
/// those that are saved. It computes the others again. Forward values that it
/// does not need may be members, too.
using SavedValues = llvm::DenseSet<mlir::Value>;

/// True for a forward value that is never saved: it is a number or made of
/// constants alone.
bool isNeverSaved(const Step &step, mlir::Value value);

/// True if `value` must be computed again: it is marked so, and can be.
bool mustRecompute(mlir::Value value);

/// What the collective, or the copy to or from the host, that `wait` is for has
/// taken, by result of the wait.
mlir::OperandRange getAwaitedInputs(WaitOp wait);

/// Saves what backward reads, but for what is marked as `must_recompute` and
/// for parameters that are released after forward.
SavedValues saveEverything(const Step &step);

/// Saves what the record (`tg.saved_results`) says. `must_recompute` comes
/// before it, and so does `must_save`, which saves all results. Emits an error
/// if there is neither a record nor a mark.
mlir::FailureOr<SavedValues> replayRecord(const Step &step);

/// Saves the fewest bytes (see MinimumCutPlan.cpp for what is recomputed).
/// Emits an error if something can be neither saved nor computed again.
mlir::FailureOr<SavedValues> cutMinimum(const Step &step);

/// The network of which `cutMinimum` finds a minimum cut.
FlowNetwork buildCutNetwork(const Step &step);

/// Saves what PyTorch would (see
/// regather/Analysis/Recomputation/PyTorchPartition.h). Merges duplicates in
/// `func`, makes operations of backward whose results are saved operations of
/// forward, and the gradient of the loss a constant. Emits an error if `func`
/// is not a captured graph, or if something can be neither saved nor computed
/// again.
mlir::FailureOr<SavedValues> saveLikePyTorch(mlir::func::FuncOp func);

/// Reports the value of a minimum cut.
void reportCut(mlir::FunctionOpInterface func, int64_t value);

} // namespace regather::tg::partition

#endif // REGATHER_DIALECT_TG_TRANSFORMS_PARTITION_SAVEDVALUES_H
