//===- BatchParts.h - One micro-batch after the other -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step that computes one micro-batch, with collectives over all of them,
// becomes one that computes all of them. In pseudocode:
//
//   for each operation that a collective on inputs and buffers alone needs, in
//   their order:
//     for each micro-batch: carry it out
//     if it is the collective: combine what all micro-batches have given
//   for each micro-batch:
//     carry out all else that its rows decide
//     add what late collectives take to what earlier micro-batches gave
//   carry out the rest once: what reads what late collectives give
//
// A collective on inputs and buffers alone, such as the number of targets that
// count, gives what micro-batches may read. All others are late: what they give
// is known when all micro-batches are done.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_TRANSFORMS_CUTBATCH_BATCHPARTS_H
#define REGATHER_LIB_DIALECT_TG_TRANSFORMS_CUTBATCH_BATCHPARTS_H

#include "../ShardParameters/DataMesh.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace regather::tg {

class BatchParts {
public:
  /// The arguments from `numArguments` on are those of one micro-batch, of the
  /// `inputs` in their order. `mesh` is that of the micro-batches.
  BatchParts(mlir::func::FuncOp func, llvm::ArrayRef<unsigned> inputs,
             unsigned numArguments, int64_t parts, const spmd::DataMesh &mesh);

  /// Emits an error if an operation on a micro-batch reads what is only known
  /// when all of them are done.
  mlir::LogicalResult run();

  /// Values that are combined of those of all micro-batches.
  unsigned getNumCombined() const { return numCombined; }

private:
  /// What decides a value.
  struct Origin {
    /// The rows of one micro-batch.
    bool isPart = false;
    /// A late collective.
    bool isLate = false;
    bool readsParameter = false;
  };

  mlir::LogicalResult classify();
  mlir::LogicalResult emitTogether(mlir::Operation *op) const;
  mlir::LogicalResult classifyCollective(mlir::Operation *op, Origin origin);
  Origin getOrigin(mlir::Operation *op) const;
  bool isCollective(mlir::Operation *op) const;
  /// The wait for a collective over micro-batches; null for other operations.
  mlir::Operation *getAwaited(mlir::Operation *op) const;
  void findEarly();
  void findShared();
  void cutInputs();
  void repeatEarly();
  void repeat(int64_t part);
  void finish();
  /// Carries `op` out on one micro-batch.
  void clone(mlir::Operation *op, int64_t part);
  mlir::Operation *cloneIndices(mlir::Operation *op, int64_t part);
  /// Adds the values of micro-batch `part` that late collectives take and `op`
  /// has computed, or that no operation of this micro-batch computes.
  void accumulate(mlir::Value value, int64_t part);
  /// What a collective gives, of its operands in all micro-batches.
  mlir::Value combine(mlir::Operation *collective,
                      llvm::ArrayRef<mlir::Value> values);
  void define(mlir::Operation *wait);

  mlir::func::FuncOp func;
  mlir::Block &block;
  llvm::ArrayRef<unsigned> inputs;
  unsigned numArguments;
  int64_t parts;
  const spmd::DataMesh &mesh;
  mlir::OpBuilder builder;
  /// The operations on one micro-batch, in order.
  std::vector<mlir::Operation *> operations;
  llvm::DenseMap<mlir::Value, Origin> origins;
  /// Those that collectives on inputs and buffers alone need, and these.
  llvm::DenseSet<mlir::Operation *> early;
  /// Those that are carried out once, behind all micro-batches.
  llvm::DenseSet<mlir::Operation *> shared;
  /// By micro-batch.
  std::vector<mlir::IRMapping> mappings;
  /// Late collectives and numbers of operands, by what they take.
  llvm::DenseMap<mlir::Value,
                 llvm::SmallVector<std::pair<mlir::Operation *, unsigned>, 1>>
      takers;
  /// By late collective and operand, what micro-batches gave so far: their sum,
  /// or each of them if it is a gather.
  llvm::DenseMap<mlir::Operation *, std::vector<llvm::SmallVector<mlir::Value>>>
      given;
  unsigned numCombined = 0;
};

} // namespace regather::tg

#endif // REGATHER_LIB_DIALECT_TG_TRANSFORMS_CUTBATCH_BATCHPARTS_H
