//===- TreeSums.h - Sums in the order of a balanced tree --------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tree over n leaves combines that over the first n / 2 with that over the
// others. So n ranks, a power of two, that hold equally many leaves one behind
// the other hold a subtree each, and combining these as a tree over the ranks
// gives the tree over all leaves: the order of a sum is a function of the
// number of leaves alone.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_TRANSFORMS_TREESUMS_H
#define REGATHER_LIB_DIALECT_TG_TRANSFORMS_TREESUMS_H

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/IR/Builders.h"

namespace regather::tg {

/// Combines the leaves `first` to `first + count - 1` as a tree. A leaf is made
/// when it is needed, so that no more than log2(count) + 1 values exist at a
/// time.
template <typename T>
T combineTree(int64_t first, int64_t count,
              llvm::function_ref<T(int64_t)> makeLeaf,
              llvm::function_ref<T(T, T)> combine) {
  if (count == 1)
    return makeLeaf(first);
  T low = combineTree<T>(first, count / 2, makeLeaf, combine);
  T high =
      combineTree<T>(first + count / 2, count - count / 2, makeLeaf, combine);
  return combine(low, high);
}

/// True if `ranks` ranks that hold `leaves / ranks` leaves each hold subtrees
/// of the tree over all leaves.
bool holdSubtrees(int64_t ranks, int64_t leaves);

/// Inserts sums over segments and over ranks at a place, for a phase and a
/// module. Data moves by collectives that do not compute; every sum is an
/// operation of the step.
class TreeSums {
public:
  TreeSums(mlir::OpBuilder &builder, mlir::Location loc, PhaseAttr phase,
           mlir::StringAttr module)
      : builder(builder), loc(loc), phase(phase), module(module) {}

  /// Block `number` of `count` equal ones along `dim`.
  mlir::Value takeBlock(mlir::Value whole, int64_t dim, int64_t number,
                        int64_t count);
  /// The sum, or maximum, of two tensors of one type.
  mlir::Value combine(mlir::Value low, mlir::Value high, Reduction reduction);
  /// The tensors behind each other along `dim`.
  mlir::Value concatenate(mlir::ValueRange parts, int64_t dim);
  /// Every element divided by `divisor`.
  mlir::Value divide(mlir::Value value, int64_t divisor);

  /// What an all-reduce gives, over a group of `ranks` ranks. Receives as much
  /// as an all-gather. With `stacks`, what is received has a dimension of its
  /// own for the ranks, so that all others may be cut later.
  llvm::SmallVector<mlir::Value> reduce(mlir::ValueRange values,
                                        Reduction reduction,
                                        mlir::FlatSymbolRefAttr mesh,
                                        AxesAttr axes, int64_t ranks,
                                        bool stacks = false);
  /// What a reduce-scatter along `dim` gives, and receives as much.
  llvm::SmallVector<mlir::Value> scatter(mlir::ValueRange values,
                                         Reduction reduction, int64_t dim,
                                         mlir::FlatSymbolRefAttr mesh,
                                         AxesAttr axes, int64_t ranks);

private:
  mlir::Operation *mark(mlir::Operation *op);
  mlir::ResultRange wait(mlir::Operation *collective);
  /// Combines the blocks of `blocks` along `dim`, one of each rank.
  mlir::Value combineBlocks(mlir::Value blocks, Reduction reduction,
                            int64_t dim, int64_t ranks);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  PhaseAttr phase;
  mlir::StringAttr module;
};

} // namespace regather::tg

#endif // REGATHER_LIB_DIALECT_TG_TRANSFORMS_TREESUMS_H
