//===- DispatchedRegion.h - What is computed where experts are --*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of a step in which each rank sorts its own rows and gathers the matrices of
// all experts, the part between the sort and where rows are put back: grouped
// GEMMs are carried out on the ranks that have the matrices, and with them what
// is done to each row of their results. Gradients of matrices are then those of
// all rows, and need no reduction.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_DISPATCHROWS_DISPATCHEDREGION_H
#define REGATHER_DIALECT_TG_TRANSFORMS_DISPATCHROWS_DISPATCHEDREGION_H

#include "../ShardParameters/SortedRows.h"
#include "ExpertMatrices.h"
#include "RowExchange.h"

namespace regather::tg::spmd {

/// Whether the rows of a sort can be sent to the ranks of their experts.
struct DispatchPlan {
  /// The axes that the experts are gathered over; null if they are not.
  AxesAttr axes;
  mlir::FlatSymbolRefAttr mesh;
  int64_t experts = 0;
  /// By grouped GEMM, the matrices that it reads, and what becomes of its
  /// gradient of such.
  llvm::DenseMap<mlir::Operation *, ExpertMatrices> gathered, scattered;
  /// What stands in the way, and why; null if nothing does.
  mlir::Operation *obstacle = nullptr;
  llvm::StringRef reason;
};

DispatchPlan planDispatch(const SortedRows &rows, unsigned sort);

/// Room for `capacity` times the rows of a chunk that each rank gets if experts
/// get equally many, in blocks of eight. `rows`: of all chunks, which divide
/// them.
ExchangeSizes getSizes(const DispatchPlan &plan, int64_t rows, int64_t chunks,
                       int64_t ranks, double capacity);

/// True if all results are rows, and nothing but rows decides them.
bool isRowByRow(const SortedOp &planned);

class DispatchedRegion {
public:
  DispatchedRegion(const SortedRows &rows, unsigned sort,
                   const DispatchPlan &plan, const ExchangeSizes &sizes,
                   Communication &communication, CountedNumbers &counted);

  /// Carries out the rows' operations, and erases those that are replaced.
  void run();
  const RowExchange &getExchange() const { return exchange; }

private:
  /// The rows of `chunk` of the value, or of all, as the ranks of the experts
  /// have them, or all rows in the order of the rank's own sort, at the current
  /// place.
  mlir::Value getSent(mlir::Value value, int64_t dim, unsigned chunk);
  mlir::Value getOwn(mlir::Value value, int64_t dim);
  /// `value` of all chunks: the rows of each are put together.
  mlir::Value merge(mlir::Value value, int64_t dim);
  /// `value` sent without putting it in the order of the sort first, where it
  /// is moved there from the batch; null if it is not.
  mlir::Value sendFromBatch(mlir::Value value, unsigned chunk);
  /// The rows of a batch in the narrowest type that they are made of.
  mlir::Value getNarrow(mlir::Value batch);
  /// What the ranks of the experts send back of `value`, by slot.
  mlir::Value getReturned(mlir::Value value, int64_t dim);
  /// True if less is moved where `value` is computed again from what it is made
  /// of: where experts are, or by the rank that has the rows.
  bool isCheaperThere(mlir::Value value, unsigned chunk) const;
  bool isCheaperHere(mlir::Value value) const;
  /// The operation on the rows of a chunk, or of all, that have been sent.
  mlir::Operation *build(mlir::Operation *op, const SortedOp &planned,
                         unsigned chunk);
  void replaceEach(mlir::Operation *op, const SortedOp &planned);
  void replaceGemm(mlir::Operation *op, const SortedOp &planned);
  /// The results of a grouped GEMM on the rows of a chunk, or of all.
  llvm::SmallVector<mlir::Value>
  buildGemm(mlir::Operation *op, const SortedOp &planned, unsigned chunk);
  /// Of a GEMM that gives both gradients, that of the rows of a chunk, and that
  /// of the matrices, over all rows.
  mlir::Value buildRowGradient(mlir::Operation *op, unsigned chunk);
  mlir::Value buildMatrixGradient(mlir::Operation *op);
  /// The rank's part of the matrices that the GEMM reads.
  mlir::Value getPart(mlir::Operation *op, mlir::Value matrices);
  /// Says how many rows of an operation on sent rows are computed.
  void setShare(mlir::Operation *part, mlir::Operation *op);
  void useMatrixGradient(mlir::Operation *op, mlir::Value gradient);
  /// The type of a result of a grouped GEMM or of what is done to each row.
  mlir::Type getSentType(mlir::Value value, const SortedForm &form,
                         unsigned chunk) const;
  void markReplaced(mlir::Operation *op);
  void readOwn(mlir::Operation *op, const SortedOp &planned);
  /// True if `op` puts rows back, which it then reads by slot.
  bool readSlots(mlir::Operation *op, const SortedOp &planned);
  bool isSent(mlir::Operation *op, const SortedOp &planned) const;

  const SortedRows &rows;
  unsigned sort;
  const DispatchPlan &plan;
  Communication &communication;
  RowExchange exchange;
  /// By chunk, and for all, what has a value where the experts are.
  llvm::SmallVector<llvm::DenseMap<mlir::Value, mlir::Value>> sent;
  /// By value, what has it in the order of the rank's own sort, and by slot
  /// where it is sent back to.
  llvm::DenseMap<mlir::Value, mlir::Value> own, returned;
  /// By batch, its rows before they are widened.
  llvm::DenseMap<mlir::Value, mlir::Value> narrowed;
  /// By matrices, the rank's part.
  llvm::DenseMap<mlir::Value, mlir::Value> parts;
  /// What was replaced, in order.
  llvm::SmallVector<mlir::Operation *> replaced;
  llvm::DenseSet<mlir::Operation *> isReplaced;
};

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_DISPATCHROWS_DISPATCHEDREGION_H
