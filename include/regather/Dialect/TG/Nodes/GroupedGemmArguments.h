//===- GroupedGemmArguments.h - Operands of a grouped GEMM ------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A grouped GEMM multiplies each row of x by the matrix of the row's group, as
// experts do. With x [rows, inner], w [groups, inner, outer] and y [rows,
// outer],
//
//   y[t, n] = sum_k x[t, k] * w[g(t), k, n]
//
// where g(t) is the first group whose end lies behind row t. A node computes
// y, the gradient of x from y and w, or that of w from x and y. Rows behind all
// ends belong to no group: no gradient of w counts them, and what they get is
// NaN, as PyTorch leaves it undefined, or zero where PyTorch says so.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_NODES_GROUPEDGEMMARGUMENTS_H
#define REGATHER_DIALECT_TG_NODES_GROUPEDGEMMARGUMENTS_H

#include "regather/Dialect/TG/Nodes/NodeArguments.h"

namespace regather::nodes {

/// What `op` calls, if it is a node for a grouped GEMM or its gradients. That
/// of two tensors of rank 3 is none: it is a batch of GEMMs.
std::optional<tg::NodeTarget> findGroupedGemmTarget(mlir::Operation *op);

/// A tensor of the node as x, w or y.
struct GroupedOperand {
  /// Null if the node does not read it.
  Tensor tensor;
  /// The tensor has the last two dimensions the other way round.
  bool isTransposed = false;
};

/// A result of the node as x, w or y.
struct GroupedResult {
  unsigned number;
  bool isTransposed = false;
};

struct GroupedGemm {
  int64_t groups = 0, rows = 0, inner = 0, outer = 0;
  GroupedOperand x, w, y;
  /// Of each group, behind its last row: [groups] integers.
  Tensor ends;
  std::optional<GroupedResult> toX, toW, toY;
  /// Rows of no group get zeros instead of NaN.
  bool fillsZeros = false;

  llvm::SmallVector<int64_t> getXShape() const { return {rows, inner}; }
  llvm::SmallVector<int64_t> getWShape() const {
    return {groups, inner, outer};
  }
  llvm::SmallVector<int64_t> getYShape() const { return {rows, outer}; }
};

/// Reads the arguments; emits an error if they do not fit.
mlir::FailureOr<GroupedGemm> readGroupedGemm(NodeArguments &args);

/// The same of any operation, without an error: fails if it is no node for a
/// grouped GEMM or its gradients, or if its arguments do not fit.
mlir::FailureOr<GroupedGemm> matchGroupedGemm(mlir::Operation *op);

} // namespace regather::nodes

#endif // REGATHER_DIALECT_TG_NODES_GROUPEDGEMMARGUMENTS_H
