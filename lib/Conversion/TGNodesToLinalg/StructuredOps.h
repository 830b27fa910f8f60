//===- StructuredOps.h - Whole tensors from element functions ---*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_CONVERSION_TGNODESTOLINALG_STRUCTUREDOPS_H
#define REGATHER_LIB_CONVERSION_TGNODESTOLINALG_STRUCTUREDOPS_H

#include "ElementMath.h"
#include "regather/Dialect/TG/Nodes/NodeArguments.h"

namespace regather::nodes {

/// Computes one element from elements of the operands, in their own types.
using ElementFn = llvm::function_ref<mlir::Value(B &, mlir::ValueRange)>;

/// A tensor of `shape` whose elements are all `number`.
Tensor fill(B &b, llvm::ArrayRef<int64_t> shape, mlir::TypedAttr number);

/// Applies `fn` to the elements of `tensors`, which are broadcast to `shape`,
/// and converts what it gives to `element`. Operations inside `fn` may read
/// the position with `linalg.index`.
Tensor pointwise(B &b, llvm::ArrayRef<int64_t> shape, mlir::Type element,
                 llvm::ArrayRef<Tensor> tensors, ElementFn fn);

/// Converts elements; the tensor itself if it has the type.
Tensor convertTensor(B &b, Tensor tensor, mlir::Type element);

/// Repeats the tensor along new and unit dimensions.
Tensor broadcast(B &b, Tensor tensor, llvm::ArrayRef<int64_t> shape);

/// Combines elements along `dims` (ascending), in row-major order, starting
/// from `init`. `fn` gets the partial result and the element, both in the type
/// of `init`. The dimensions stay, with size 1.
Tensor reduce(B &b, Tensor tensor, llvm::ArrayRef<int64_t> dims,
              mlir::TypedAttr init, ElementFn fn);

/// Sum along `dims` in the accumulation type, which that of `tensor` decides if
/// no `element` is given. Sums of all elements are sums of rows (`RowSums.h`).
Tensor reduceSum(B &b, Tensor tensor, llvm::ArrayRef<int64_t> dims,
                 mlir::Type element = nullptr);
Tensor reduceMax(B &b, Tensor tensor, llvm::ArrayRef<int64_t> dims);

/// The elements along `dim` that are largest or smallest, as `relation` says,
/// and their first positions; a NaN beats any number. Both results have size 1
/// along `dim`.
std::pair<Tensor, Tensor> reduceArgExtreme(B &b, Tensor tensor, int64_t dim,
                                           Relation relation);

/// The same elements in row-major order; the number of elements is equal.
Tensor reshape(B &b, Tensor tensor, llvm::ArrayRef<int64_t> shape);

/// Removes `dims` (ascending), which have size 1.
Tensor dropDims(B &b, Tensor tensor, llvm::ArrayRef<int64_t> dims);

/// Dimension i of the result is dimension `permutation[i]`.
Tensor transpose(B &b, Tensor tensor, llvm::ArrayRef<int64_t> permutation);

/// The elements in opposite order along `dims`.
Tensor reverse(B &b, Tensor tensor, llvm::ArrayRef<int64_t> dims);

/// `size` elements along `dim`, from `start` on, `step` apart.
Tensor slice(B &b, Tensor tensor, int64_t dim, int64_t start, int64_t size,
             int64_t step = 1);
/// Replaces the elements that `slice` would read by those of `source`.
Tensor insertSlice(B &b, Tensor source, Tensor into, int64_t dim, int64_t start,
                   int64_t step = 1);

/// Contraction: sizes are of the loops, of which the trailing
/// `numReduced` are summed. Maps list the loop of each operand dimension.
/// Accumulates in the compute type of the operands, which is the element type
/// of the result.
Tensor contract(B &b, Tensor lhs, llvm::ArrayRef<unsigned> lhsLoops, Tensor rhs,
                llvm::ArrayRef<unsigned> rhsLoops,
                llvm::ArrayRef<int64_t> sizes, unsigned numReduced = 1);

/// The same, with the position that each operand is read at.
Tensor contract(B &b, Tensor lhs, llvm::ArrayRef<mlir::AffineExpr> lhsExprs,
                Tensor rhs, llvm::ArrayRef<mlir::AffineExpr> rhsExprs,
                llvm::ArrayRef<int64_t> sizes, unsigned numReduced);

/// An index constant.
mlir::Value makeIndex(B &b, int64_t value);

} // namespace regather::nodes

#endif // REGATHER_LIB_CONVERSION_TGNODESTOLINALG_STRUCTUREDOPS_H
