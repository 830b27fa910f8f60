//===- AnalyzeStep.h - Find the step of a module ----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_STEPANALYSIS_ANALYZESTEP_H
#define REGATHER_STEPANALYSIS_ANALYZESTEP_H

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Execution/Engines/PartitionedStep.h"
#include "regather/Execution/Tensors/StepSignature.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace regather {

/// The backward part of a partitioned step.
struct BackwardPart {
  mlir::func::FuncOp func;
  StepPartition partition;
};

/// The function that a run executes, and its mesh.
struct AnalyzedStep {
  /// The forward part if the step is partitioned.
  mlir::func::FuncOp entry;
  /// Nothing if `entry` is the whole step.
  std::optional<BackwardPart> backward;
  /// Null if the module declares none.
  tg::MeshOp mesh;
  /// That of both parts together if the step is partitioned.
  StepSignature signature;
};

/// The element type that stores values of `type`; failure for types that
/// cannot be run, such as f8 or complex numbers. `index` is stored as I64.
llvm::FailureOr<ElementType> getElementType(mlir::Type type);

/// Describes the function called `entryName`, or the only public function with
/// a body if the name is empty, or the pair of functions that tg-partition
/// leaves. `ranks` is what the user asked for; without it, the mesh decides.
/// Emits errors with locations: no such function, a mesh of another number of
/// ranks, types that cannot be run, parts that do not match.
llvm::FailureOr<AnalyzedStep> analyzeStep(mlir::ModuleOp module,
                                          llvm::StringRef entryName,
                                          std::optional<int64_t> ranks);

/// Checks what can be known before anything is allocated: that this machine can
/// run as many ranks, and that no value, nor the arguments of all ranks, need
/// more memory than it has. Emits an error that says how much is needed.
mlir::LogicalResult verifyFitsMachine(const AnalyzedStep &step);

} // namespace regather

#endif // REGATHER_STEPANALYSIS_ANALYZESTEP_H
