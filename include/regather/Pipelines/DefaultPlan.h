//===- DefaultPlan.h - The plan of a step without one -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_PIPELINES_DEFAULTPLAN_H
#define REGATHER_PIPELINES_DEFAULTPLAN_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace regather {

/// The plan that leaves open what nobody has decided: `plan=as-captured`.
inline constexpr llvm::StringLiteral kAsCaptured = "as-captured";

/// What is decided about a step: options of the passes of the training
/// pipeline, empty for what is open, "none" for what is not to be done.
struct StepPlan {
  std::string reshard, recompute, bucket, schedule;
};

/// True if the module holds nodes, which all captured steps consist of.
bool hasNodes(mlir::ModuleOp module);

/// True if `entry` is a captured step about which no pass has decided what
/// lives on from forward to backward, and the one that passes find.
bool isOpenStep(mlir::ModuleOp module, mlir::func::FuncOp entry);

/// Completes a plan. What it leaves open of a step that is open becomes a
/// minimum cut and, if the step runs on several ranks, what FSDP2 does with
/// gathered parameters, buckets and a schedule by simulation. What is open of
/// another step, and with `asCaptured` of any, becomes "none".
StepPlan completePlan(StepPlan plan, bool isOpen, bool hasSeveralRanks,
                      bool asCaptured);

/// The number of ranks of a mesh such as `rep:2,dp:4`, at most 2^32; 1 for what
/// is no mesh.
int64_t countRanks(llvm::StringRef mesh);

} // namespace regather

#endif // REGATHER_PIPELINES_DEFAULTPLAN_H
