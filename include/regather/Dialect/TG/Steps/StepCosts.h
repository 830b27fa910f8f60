//===- StepCosts.h - Seconds of a step's operations -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_STEPS_STEPCOSTS_H
#define REGATHER_DIALECT_TG_STEPS_STEPCOSTS_H

#include "regather/Analysis/Cost/CostModel.h"
#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/IR/BuiltinOps.h"

namespace regather::tg {

/// What the operations of a step take on a cluster. Rank r of the step's mesh
/// is rank r of the cluster.
class StepCosts {
public:
  /// Emits an error at a mesh of `module` that has more ranks than the cluster
  /// connects. Module and model outlive the costs.
  static llvm::FailureOr<StepCosts> create(mlir::ModuleOp module,
                                           const CostModel &model);

  const CostModel &getModel() const { return *model; }

  /// Seconds for which `op` occupies the device: none for views, constants,
  /// waits and collectives, the sum of its body for control flow, once through.
  double getComputeSeconds(mlir::Operation *op);

  /// Seconds that a part of the products of `op` takes, however few bytes it
  /// reads and writes; 0 if a library computes none. `share` is at most 1.
  double getProductSeconds(mlir::Operation *op, double share);

  /// Seconds for which `op` occupies its links, and which they are.
  CollectiveEstimate getCollective(CollectiveOpInterface op);

  /// Seconds for which `op` occupies the link to the host.
  double getHostCopySeconds(HostCopyOpInterface op) const;

  /// The ranks that take part in `op`.
  GroupPlacement getGroup(CollectiveOpInterface op);

private:
  /// What one launch does besides moving its operands and results.
  struct Arithmetic {
    double matmulFlops = 0;
    double otherFlops = 0;
    WorkKind kind = WorkKind::Other;
    mlir::Type matmulType;
  };

  StepCosts(mlir::ModuleOp module, const CostModel &model)
      : model(&model), symbols(module) {}

  void addArithmetic(mlir::Operation *op, Arithmetic &sum);
  const Arithmetic &getKernelArithmetic(LaunchOp launch);
  llvm::StringRef getTypeName(mlir::Type type);

  const CostModel *model;
  mlir::SymbolTable symbols;
  llvm::DenseMap<mlir::Operation *, Arithmetic> kernels;
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Attribute>, GroupPlacement>
      groups;
  llvm::DenseMap<mlir::Type, std::string> typeNames;
};

/// The kind of a collective operation.
CollectiveKind getCollectiveKind(CollectiveOpInterface op);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_STEPS_STEPCOSTS_H
