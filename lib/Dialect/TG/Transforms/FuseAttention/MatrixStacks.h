//===- MatrixStacks.h - Matrices behind views --------------------*- C++
//-*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product of three dimensions multiplies stacks of matrices. Captured graphs
// wrap its operands in views and copies; what a chain of them says is which
// tensor the matrices are from, and whether they are transposed.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_TRANSFORMS_FUSEATTENTION_MATRIXSTACKS_H
#define REGATHER_LIB_DIALECT_TG_TRANSFORMS_FUSEATTENTION_MATRIXSTACKS_H

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Dialect/TG/Targets/NodeTargets.h"

namespace regather::tg::attention {

/// The target of `op`, if it is a node without effects that the table knows.
std::optional<NodeTarget> getTarget(mlir::Operation *op);

/// True if `op` calls an overload of this operator.
bool isNode(mlir::Operation *op, NodeOperator called);

/// The shape of a tensor, which is static and of at least two dimensions;
/// empty for all else.
llvm::ArrayRef<int64_t> getMatrixShape(mlir::Value value);

/// True if `op` is a node with one result that has the elements of operand 0 in
/// the same order: a reshape, a copy, a part that is all of it, or a
/// permutation that moves dimensions of size 1.
bool keepsElements(mlir::Operation *op);

/// True if `op` keeps elements, and also the last two dimensions, those of size
/// 1 apart. So matrices of one row or column are none.
bool keepsMatrices(mlir::Operation *op);

/// True if `op` is a node that transposes the matrices, and does nothing else
/// but moving dimensions of size 1.
bool transposesMatrices(mlir::Operation *op);

/// True if `op` is a node that converts floats of at most 32 bits to others.
bool convertsFloats(mlir::Operation *op);

/// A tensor whose last two dimensions are those of matrices. Two values with
/// equal stacks hold the same matrices in the same order.
struct MatrixStack {
  mlir::Value root;
  bool isTransposed = false;

  MatrixStack transpose() const { return {root, !isTransposed}; }
  bool operator!=(const MatrixStack &other) const {
    return root != other.root || isTransposed != other.isTransposed;
  }
};

/// Looks through views and transpositions.
MatrixStack getStack(mlir::Value value);

/// The number in a node that fills a tensor with it: `full`, `scalar_tensor`
/// and the like.
std::optional<double> getFilling(mlir::Value value);

} // namespace regather::tg::attention

#endif // REGATHER_LIB_DIALECT_TG_TRANSFORMS_FUSEATTENTION_MATRIXSTACKS_H
