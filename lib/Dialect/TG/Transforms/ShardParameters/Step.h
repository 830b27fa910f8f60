//===- Step.h - What a captured step consists of ----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_STEP_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_STEP_H

#include "DataMesh.h"

#include "regather/Dialect/TG/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace regather::tg::spmd {

/// Element types that options ask for; null means as captured.
struct ElementTypes {
  mlir::Type compute, parameter, reduce;
};

struct Parameter {
  unsigned argument;
  /// `tg.name`, or `argN`.
  std::string name;
  /// `tg.module`, or the name without its last component.
  std::string module;
  int64_t registration;
  /// The type in the captured graph.
  mlir::RankedTensorType type;
  /// An option leaves it as it is.
  bool ignored = false;
  /// Cut over the shard axis; otherwise every rank keeps all of it.
  bool sharded = false;
  /// The dimension that is cut then.
  int64_t dim = 0;
  /// Lies in a flat buffer with others of its unit.
  bool flat = false;
  /// The ranks that share that buffer. If they are more than those of the shard
  /// axis, the gradient of the step is one summand of several, on each of them.
  Group over = Group::Shard;
  /// Element types of the argument and of what is gathered.
  mlir::Type stored, gathered;
  /// Number of the result that is the gradient, or the update.
  std::optional<unsigned> gradient, update;
  /// Place of the first operation outside of the optimizer that uses it.
  std::optional<unsigned> firstUse;
  /// Casts to `gathered` that take the place of all other uses.
  llvm::SmallVector<mlir::Operation *> casts;
};

/// The step as it was captured, and what becomes of its arguments.
struct Step {
  mlir::func::FuncOp func;
  mlir::Block *block = nullptr;
  /// All operations of the block in order, without the terminator.
  std::vector<mlir::Operation *> operations;
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
  /// In registration order.
  std::vector<Parameter> parameters;
  /// Number of each parameter by argument.
  llvm::DenseMap<unsigned, unsigned> parameterOfArgument;
  /// Arguments of which each rank gets a part of the batch.
  llvm::SmallVector<unsigned> splitInputs;
  /// The size of the captured batch; nothing without an input that has one.
  std::optional<int64_t> batch;
  /// Each rank has a batch of that size: its part of those of all ranks.
  bool hasOwnBatches = false;
  /// Operations that cut one batch out of an input that holds several. Every
  /// rank works on its part of each batch.
  llvm::DenseSet<mlir::Operation *> batchSlices;
  /// How many micro-batches tg-cut-batch has made of the batch.
  int64_t cutInto = 1;

  RoleAttr getArgumentRole(unsigned argument) const;
  RoleAttr getResultRole(unsigned result) const;
  /// The placement over axes that the step was sharded over before; null if
  /// it is whole.
  PlacementAttr getArgumentPlacement(unsigned argument) const;
  PlacementAttr getResultPlacement(unsigned result) const;
  mlir::Operation *getTerminator() const { return block->getTerminator(); }
  mlir::MLIRContext *getContext() const {
    return block->getParent()->getContext();
  }
};

/// Erases operations that nothing reads.
void eraseOperations(Step &step,
                     const llvm::DenseSet<mlir::Operation *> &erased);

/// True if an argument of `func` is a parameter.
bool hasParameters(mlir::func::FuncOp func);

/// Emits an error if an argument is placed, or an operation communicates, over
/// other axes than the model axes of `mesh`.
llvm::LogicalResult checkIsWhole(mlir::func::FuncOp func, const DataMesh &mesh);

/// Describes `func`. Emits an error if it is not a step on one device, or if
/// the ranks do not divide its batch. Parameters that match a pattern of
/// `ignore` are not sharded.
mlir::FailureOr<Step> analyzeStep(mlir::func::FuncOp func, const DataMesh &mesh,
                                  const ElementTypes &types,
                                  llvm::ArrayRef<std::string> ignore,
                                  BatchMode batch);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_STEP_H
