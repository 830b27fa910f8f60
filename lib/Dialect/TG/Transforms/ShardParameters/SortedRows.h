//===- SortedRows.h - Rows that are sorted, each rank its own ---*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Experts sort the rows of a batch by the expert that each goes to, multiply
// them group by group, and put them back:
//
//   ids, order = sort(chosen)          rows in the order of their experts
//   ends = cumsum(histc(ids))          where the rows of each expert end
//   y = grouped_mm(x[order // k], w, ends)
//   result = y[inverse of order]       in the order of the batch
//
// A sort needs all rows. But nobody reads which row came where: each row is
// computed from its own, and what is summed over rows has any order. So a rank
// may sort, count, multiply and put back the rows that it has, and gets what it
// would have got of all of them.
//
// Here is found what is computed in the order of one sort, forward and
// backward, and whether all of it can be carried out so. A value that is
// neither put back nor summed over, or an operation that is not known, is an
// obstacle: then all rows are sorted, as for any other value that is needed
// whole.
//
// A linear walk over the step: it looks at each operation once.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_SORTEDROWS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_SORTEDROWS_H

#include "DataMesh.h"

#include "llvm/ADT/DenseMap.h"

namespace regather::tg::spmd {

/// How an operation sees one of its operands, or gives one of its results, if
/// each rank sorts its own rows.
struct SortedForm {
  enum class Kind {
    /// As outside of the region: an operand is whole.
    Whole,
    /// Cut along dimension 0 as what is sorted is.
    Batch,
    /// Cut along `dim`; a rank has its rows in the order of its own sort.
    Rows,
    /// Reduced over the rows: each rank's is a part of the reduction.
    Reduced,
    /// An operand whose elements are all equal, or not read: a part along `dim`
    /// is made anew.
    Filled,
    /// An operand that counts its rows.
    Counted,
  };
  Kind kind = Kind::Whole;
  int64_t dim = 0;
  Reduction reduction = Reduction::Sum;
  /// The elements mean something on this rank alone: places in its order.
  bool isLocal = false;
};

/// What an operation does with rows.
enum class RowWork {
  Sort,
  /// Counts how many rows have each id, or where those of an id end.
  Count,
  /// Moves rows between the order of the batch and that of the sort.
  Move,
  GroupedGemm,
  /// Does the same to each row, or reduces over them.
  Each,
};

/// An operation that is carried out on sorted rows.
struct SortedOp {
  /// Number of the sort.
  unsigned sort;
  RowWork work;
  llvm::SmallVector<SortedForm, 4> operands;
  llvm::SmallVector<SortedForm, 2> results;
  /// Rows of zeros add nothing to what is reduced over rows.
  bool ignoresZeros = false;
};

/// A sort of rows.
struct RowSort {
  mlir::Operation *op;
  /// How many there are.
  int64_t rows;
  /// Sizes that ranks have to divide: of what is sorted, and of what has the
  /// rows in the order of the batch.
  llvm::SmallVector<int64_t, 2> sizes;
  /// What is computed with the rows, in order.
  std::vector<mlir::Operation *> ops;
  /// What cannot be carried out on sorted rows, if anything.
  mlir::Operation *obstacle = nullptr;
};

class SortedRows {
public:
  explicit SortedRows(mlir::Block &block);

  /// How `op` is carried out if the ranks sort their own rows; null if it has
  /// nothing to do with a sort, or if the sort needs all of them.
  const SortedOp *find(mlir::Operation *op) const;
  unsigned getNumSorts() const { return sorts.size(); }
  const RowSort &getSort(unsigned number) const { return sorts[number]; }
  /// What stands in the way of sorting `op`, a sort, on parts; null if nothing
  /// does, or if it is no sort of rows.
  mlir::Operation *getObstacle(mlir::Operation *op) const;
  /// What `value` is a cast or a view of, with the same elements in the same
  /// order.
  static mlir::Value getBase(mlir::Value value);

private:
  friend class SortedRowsFinder;
  llvm::SmallVector<RowSort> sorts;
  llvm::DenseMap<mlir::Operation *, SortedOp> ops;
  llvm::DenseMap<mlir::Operation *, unsigned> numbers;
};

/// True if `value` has the numbers from 0 on that are less than `count`.
bool isCount(mlir::Value value, int64_t count);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_SORTEDROWS_H
