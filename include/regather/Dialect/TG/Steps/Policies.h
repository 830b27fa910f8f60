//===- Policies.h - Marks to save or to recompute ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_STEPS_POLICIES_H
#define REGATHER_DIALECT_TG_STEPS_POLICIES_H

#include "regather/Dialect/TG/IR/TG.h"

namespace regather::tg {

/// The policy of what `op` makes: its own mark or, for a wait without one, that
/// of its collective.
std::optional<Policy> getPolicy(mlir::Operation *op);

/// The same with who has decided; null if nobody has.
PolicyAttr getPolicyAttr(mlir::Operation *op);

/// True if `value` is marked as `must_save` or `offload`: backward may read it.
bool isMarkedSaved(mlir::Value value);

/// Gives `op` the policy of `duplicate`, which it is about to replace: the one
/// that says more wins. Emits an error if one must be saved and the other one
/// recomputed, unless a plan says one of it: then the other one wins.
llvm::LogicalResult combinePolicies(mlir::Operation *op,
                                    mlir::Operation *duplicate);

/// Gives `op` the policy `other` in the same way, for what it stands for at
/// `location`. A null policy changes nothing.
llvm::LogicalResult combinePolicies(mlir::Operation *op, PolicyAttr other,
                                    mlir::Location location);

/// True if a recorded decision saves result `index` of `op`.
bool isRecordedSaved(mlir::Operation *op, unsigned index);

/// True if the operation has a recorded decision.
bool hasRecord(mlir::Operation *op);

/// Records that result `index` of `op` is saved.
void recordSaved(mlir::Operation *op, unsigned index);

/// Takes the record of `op` over to the launch that stands for it, whose
/// results are `outputs`: those of `op` that something reads.
void keepSavedResults(mlir::Operation *op, LaunchOp launch,
                      mlir::ValueRange outputs);

/// Marks the results of `launch` whose counterparts among `outputs`, by number,
/// were marked as `offload`; nothing if none was.
void keepOffloadMarks(LaunchOp launch, mlir::ValueRange outputs);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_STEPS_POLICIES_H
