//===- BackwardCopies.h - Compute forward values once more ------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gathering again, rematerialization and partitioning have this in common:
// backward operations get copies of forward operations to read.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_BACKWARDCOPIES_H
#define REGATHER_DIALECT_TG_TRANSFORMS_BACKWARDCOPIES_H

#include "regather/Dialect/TG/Steps/StepGraph.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"

#include <functional>

namespace regather::tg {

/// Copies forward operations in front of the backward operations that need
/// them, as late as possible, each at most once. A copy reads the copies of
/// what it needs, if those are made, else the originals.
///
/// A copy of a collective gets phase backward and the next generation, and only
/// the members that are needed; its wait follows. Copies lose `tg.policy` and
/// `tg.saved_results`: nothing is left to decide.
///
/// Linear in the number of operands; copies come in an order that depends on
/// the order of the program alone.
class BackwardCopies {
public:
  /// `copiedForBackward` tells which of the forward values that an original
  /// backward operation reads are computed again, and `copiedForCopies` the
  /// same for the values that a copy reads. Both may hold only for values of
  /// repeatable operations.
  BackwardCopies(const StepGraph &graph,
                 std::function<bool(mlir::Value)> copiedForBackward,
                 std::function<bool(mlir::Value)> copiedForCopies);

  /// Makes all copies and lets backward operations read them.
  void run();

  /// Erases forward operations, and members of forward collectives, that have
  /// lost all their readers to copies, and forgets the copies of these. Comes
  /// last: the graph is out of date afterwards.
  void eraseDeadOriginals();

  /// Pairs of originals and copies, in the order of the copies.
  llvm::ArrayRef<std::pair<mlir::Operation *, mlir::Operation *>>
  getCopies() const {
    return copies;
  }
  /// The members of a forward collective that its copy has, in order.
  llvm::SmallVector<unsigned> getCopiedMembers(CollectiveOpInterface op) const;

private:
  void findNeeded();
  void findInputs(mlir::Operation *op,
                  llvm::function_ref<void(mlir::Value)> visit) const;
  void materialize(mlir::Value value, mlir::Operation *before);
  void copy(mlir::Operation *op, mlir::OpBuilder &builder);
  mlir::Operation *copyCollective(CollectiveOpInterface op,
                                  mlir::OpBuilder &builder);
  void copyWait(WaitOp wait, mlir::OpBuilder &builder);

  const StepGraph &graph;
  std::function<bool(mlir::Value)> copiedForBackward;
  std::function<bool(mlir::Value)> copiedForCopies;
  llvm::DenseSet<mlir::Value> needed;
  mlir::IRMapping mapping;
  llvm::SmallVector<std::pair<mlir::Operation *, mlir::Operation *>> copies;
};

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_TRANSFORMS_BACKWARDCOPIES_H
