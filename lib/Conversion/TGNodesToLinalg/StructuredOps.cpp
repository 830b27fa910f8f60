//===- StructuredOps.cpp - Whole tensors from element functions -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StructuredOps.h"

#include "regather/Dialect/TG/Kernels/RowSums.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

using namespace mlir;
using namespace regather::nodes;

static Tensor makeEmpty(B &b, ArrayRef<int64_t> shape, Type element) {
  return cast<Tensor>(tensor::EmptyOp::create(b, shape, element).getResult());
}

Value regather::nodes::makeIndex(B &b, int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Tensor regather::nodes::fill(B &b, ArrayRef<int64_t> shape, TypedAttr number) {
  Value scalar = arith::ConstantOp::create(b, number);
  Value empty = makeEmpty(b, shape, number.getType());
  return cast<Tensor>(linalg::FillOp::create(b, scalar, empty).getResult(0));
}

//===----------------------------------------------------------------------===//
// Loops over elements
//===----------------------------------------------------------------------===//

/// The map that reads a tensor broadcast to `shape`.
static AffineMap getBroadcastMap(B &b, ArrayRef<int64_t> own,
                                 ArrayRef<int64_t> shape) {
  SmallVector<AffineExpr> exprs;
  size_t offset = shape.size() - own.size();
  for (size_t i = 0; i < own.size(); ++i)
    exprs.push_back(own[i] == shape[offset + i] ? b.getAffineDimExpr(offset + i)
                                                : b.getAffineConstantExpr(0));
  return AffineMap::get(shape.size(), 0, exprs, b.getContext());
}

Tensor regather::nodes::pointwise(B &b, ArrayRef<int64_t> shape, Type element,
                                  ArrayRef<Tensor> tensors, ElementFn fn) {
  SmallVector<AffineMap> maps;
  SmallVector<Value> inputs(tensors.begin(), tensors.end());
  for (Tensor tensor : tensors)
    maps.push_back(getBroadcastMap(b, tensor.getType().getShape(), shape));
  maps.push_back(b.getMultiDimIdentityMap(shape.size()));
  Value empty = makeEmpty(b, shape, element);
  SmallVector<utils::IteratorType> loops(shape.size(),
                                         utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      b, empty.getType(), inputs, empty, maps, loops,
      [&](OpBuilder &builder, Location loc, ValueRange elements) {
        B inner(loc, builder);
        Value value = fn(inner, elements.drop_back());
        linalg::YieldOp::create(inner, convertElement(inner, value, element));
      });
  return cast<Tensor>(generic.getResult(0));
}

Tensor regather::nodes::convertTensor(B &b, Tensor tensor, Type element) {
  RankedTensorType type = tensor.getType();
  if (type.getElementType() == element)
    return tensor;
  return pointwise(b, type.getShape(), element, tensor,
                   [](B &, ValueRange values) { return values[0]; });
}

Tensor regather::nodes::broadcast(B &b, Tensor tensor,
                                  ArrayRef<int64_t> shape) {
  RankedTensorType type = tensor.getType();
  if (type.getShape() == shape)
    return tensor;
  return pointwise(b, shape, type.getElementType(), tensor,
                   [](B &, ValueRange values) { return values[0]; });
}

Tensor regather::nodes::reduce(B &b, Tensor tensor, ArrayRef<int64_t> dims,
                               TypedAttr init, ElementFn fn) {
  RankedTensorType type = tensor.getType();
  SmallVector<int64_t> kept, full(type.getShape());
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!llvm::is_contained(dims, dim))
      kept.push_back(type.getDimSize(dim));
  for (int64_t dim : dims)
    full[dim] = 1;
  Value start = fill(b, kept, init);
  auto reduced = linalg::ReduceOp::create(
      b, ValueRange(tensor), ValueRange(start), dims,
      [&](OpBuilder &builder, Location loc, ValueRange elements) {
        B inner(loc, builder);
        Value element = convertElement(inner, elements[0], init.getType());
        linalg::YieldOp::create(inner, fn(inner, {elements[1], element}));
      });
  return reshape(b, cast<Tensor>(reduced.getResult(0)), full);
}

Tensor regather::nodes::reduceSum(B &b, Tensor tensor, ArrayRef<int64_t> dims,
                                  Type element) {
  if (!element)
    element = getComputeType(tensor.getType().getElementType());
  auto sum = [&](Tensor tensor, ArrayRef<int64_t> dims) {
    return reduce(b, tensor, dims, makeNumber(element, 0.0),
                  [](B &b, ValueRange v) { return add(b, v[0], v[1]); });
  };
  SmallVector<int64_t> shape(tensor.getType().getShape());
  auto rank = static_cast<int64_t>(shape.size());
  if (static_cast<int64_t>(dims.size()) != rank)
    return sum(tensor, dims);
  // To one number: rows first.
  while (int64_t kept = tg::getNumRowDims(shape)) {
    auto rows = llvm::to_vector(
        llvm::seq<int64_t>(kept, static_cast<int64_t>(shape.size())));
    shape.resize(kept);
    tensor = reshape(b, sum(tensor, rows), shape);
  }
  auto whole = llvm::to_vector(
      llvm::seq<int64_t>(0, static_cast<int64_t>(shape.size())));
  return reshape(b, sum(tensor, whole), SmallVector<int64_t>(rank, 1));
}

Tensor regather::nodes::reduceMax(B &b, Tensor tensor, ArrayRef<int64_t> dims) {
  Type element = getComputeType(tensor.getType().getElementType());
  return reduce(b, tensor, dims, makeLowest(element),
                [](B &b, ValueRange v) { return maximum(b, v[0], v[1]); });
}

Tensor regather::nodes::contract(B &b, Tensor lhs, ArrayRef<unsigned> lhsLoops,
                                 Tensor rhs, ArrayRef<unsigned> rhsLoops,
                                 ArrayRef<int64_t> sizes, unsigned numReduced) {
  auto getExprs = [&](ArrayRef<unsigned> loops) {
    return llvm::map_to_vector(
        loops, [&](unsigned loop) { return b.getAffineDimExpr(loop); });
  };
  return contract(b, lhs, getExprs(lhsLoops), rhs, getExprs(rhsLoops), sizes,
                  numReduced);
}

Tensor regather::nodes::contract(B &b, Tensor lhs,
                                 ArrayRef<AffineExpr> lhsExprs, Tensor rhs,
                                 ArrayRef<AffineExpr> rhsExprs,
                                 ArrayRef<int64_t> sizes, unsigned numReduced) {
  Type element = getComputeType(lhs.getType().getElementType());
  auto rank = static_cast<unsigned>(sizes.size()) - numReduced;
  SmallVector<AffineExpr> kept = llvm::map_to_vector(
      llvm::seq(0u, rank), [&](unsigned i) { return b.getAffineDimExpr(i); });
  auto makeMap = [&](ArrayRef<AffineExpr> exprs) {
    return AffineMap::get(sizes.size(), 0, exprs, b.getContext());
  };
  SmallVector<AffineMap> maps = {makeMap(lhsExprs), makeMap(rhsExprs),
                                 makeMap(kept)};
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  loops.append(numReduced, utils::IteratorType::reduction);
  Value zero = fill(b, sizes.take_front(rank), makeNumber(element, 0.0));
  auto generic = linalg::GenericOp::create(
      b, zero.getType(), ValueRange{lhs, rhs}, zero, maps, loops,
      [&](OpBuilder &builder, Location loc, ValueRange elements) {
        B inner(loc, builder);
        Value product = mul(inner, convertElement(inner, elements[0], element),
                            convertElement(inner, elements[1], element));
        linalg::YieldOp::create(inner, add(inner, elements[2], product));
      });
  return cast<Tensor>(generic.getResult(0));
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

namespace {
using Groups = ArrayRef<ReassociationIndices>;
} // namespace

static Tensor collapse(B &b, Tensor tensor, ArrayRef<int64_t> shape,
                       Groups groups) {
  auto type = RankedTensorType::get(shape, tensor.getType().getElementType());
  auto op = tensor::CollapseShapeOp::create(b, type, tensor, groups);
  return cast<Tensor>(Value(op.getResult()));
}

static Tensor expand(B &b, Tensor tensor, ArrayRef<int64_t> shape,
                     Groups groups) {
  auto type = RankedTensorType::get(shape, tensor.getType().getElementType());
  auto op = tensor::ExpandShapeOp::create(b, type, tensor, groups);
  return cast<Tensor>(Value(op.getResult()));
}

std::pair<Tensor, Tensor> regather::nodes::reduceArgExtreme(B &b, Tensor tensor,
                                                            int64_t dim,
                                                            Relation relation) {
  RankedTensorType type = tensor.getType();
  Type element = type.getElementType();
  SmallVector<int64_t> kept, full(type.getShape());
  SmallVector<AffineExpr> exprs;
  SmallVector<utils::IteratorType> loops;
  full[dim] = 1;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    loops.push_back(i == dim ? utils::IteratorType::reduction
                             : utils::IteratorType::parallel);
    if (i == dim)
      continue;
    kept.push_back(type.getDimSize(i));
    exprs.push_back(b.getAffineDimExpr(i));
  }
  auto map = AffineMap::get(type.getRank(), 0, exprs, b.getContext());
  Value best = fill(b, kept, makeLowest(element));
  Value position = fill(b, kept, b.getI64IntegerAttr(-1));
  auto generic = linalg::GenericOp::create(
      b, TypeRange{best.getType(), position.getType()}, ValueRange(tensor),
      ValueRange{best, position},
      ArrayRef{b.getMultiDimIdentityMap(type.getRank()), map, map}, loops,
      [&](OpBuilder &builder, Location loc, ValueRange v) {
        B b(loc, builder);
        Value index = arith::IndexCastOp::create(
            b, b.getI64Type(), linalg::IndexOp::create(b, dim));
        // The first element is taken even if it is no better than the start.
        Value isFirst =
            compare(b, Relation::Lt, v[2], makeConstant(b, b.getI64Type(), 0));
        Value isBetter = compare(b, relation, v[0], v[1]);
        if (isa<FloatType>(element)) {
          Value isNaN = compare(b, Relation::Ne, v[0], v[0]);
          Value wasNumber = compare(b, Relation::Eq, v[1], v[1]);
          isBetter = add(b, isBetter, mul(b, isNaN, wasNumber));
        }
        Value take = add(b, isFirst, isBetter);
        Value values[] = {arith::SelectOp::create(b, take, v[0], v[1]),
                          arith::SelectOp::create(b, take, index, v[2])};
        linalg::YieldOp::create(b, values);
      });
  return {reshape(b, cast<Tensor>(generic.getResult(0)), full),
          reshape(b, cast<Tensor>(generic.getResult(1)), full)};
}

Tensor regather::nodes::reshape(B &b, Tensor tensor, ArrayRef<int64_t> shape) {
  RankedTensorType type = tensor.getType();
  if (type.getShape() == shape)
    return tensor;
  auto rank = static_cast<int64_t>(shape.size());
  auto groups = getReassociationIndicesForReshape(
      type, RankedTensorType::get(shape, type.getElementType()));
  if (groups && type.getRank() > rank)
    return collapse(b, tensor, shape, *groups);
  if (groups && type.getRank() < rank)
    return expand(b, tensor, shape, *groups);
  // Neither merges nor splits dimensions only: over one dimension.
  auto getAll = [](int64_t rank) {
    SmallVector<ReassociationIndices> all(1);
    llvm::append_range(all.front(), llvm::seq<int64_t>(0, rank));
    return all;
  };
  int64_t size = type.getNumElements();
  Tensor flat = tensor;
  if (type.getRank() == 0)
    flat = expand(b, flat, size, {});
  else if (type.getRank() > 1)
    flat = collapse(b, flat, size, getAll(type.getRank()));
  if (rank == 0)
    return collapse(b, flat, {}, {});
  return rank == 1 ? flat : expand(b, flat, shape, getAll(rank));
}

Tensor regather::nodes::dropDims(B &b, Tensor tensor, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(tensor.getType().getShape()))
    if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
      shape.push_back(size);
  return reshape(b, tensor, shape);
}

Tensor regather::nodes::transpose(B &b, Tensor tensor,
                                  ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return tensor;
  RankedTensorType type = tensor.getType();
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(type.getDimSize(dim));
  Value empty = makeEmpty(b, shape, type.getElementType());
  auto op = linalg::TransposeOp::create(b, tensor, empty, permutation);
  return cast<Tensor>(op->getResult(0));
}

Tensor regather::nodes::reverse(B &b, Tensor tensor, ArrayRef<int64_t> dims) {
  RankedTensorType type = tensor.getType();
  if (type.getRank() == 0 || dims.empty())
    return tensor;
  SmallVector<AffineExpr> exprs;
  for (auto [i, size] : llvm::enumerate(type.getShape())) {
    AffineExpr loop = b.getAffineDimExpr(i);
    bool isReversed = llvm::is_contained(dims, static_cast<int64_t>(i));
    exprs.push_back(isReversed ? size - 1 - loop : loop);
  }
  Value empty = makeEmpty(b, type.getShape(), type.getElementType());
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      b, type, ValueRange(tensor), empty,
      ArrayRef{AffineMap::get(type.getRank(), 0, exprs, b.getContext()),
               b.getMultiDimIdentityMap(type.getRank())},
      loops, [](OpBuilder &builder, Location loc, ValueRange elements) {
        linalg::YieldOp::create(builder, loc, elements[0]);
      });
  return cast<Tensor>(generic.getResult(0));
}

namespace {
/// Offsets, sizes and strides of a slice along one dimension.
struct SliceRange {
  SliceRange(B &b, ArrayRef<int64_t> shape, int64_t dim, int64_t start,
             int64_t size, int64_t step)
      : offsets(shape.size(), b.getIndexAttr(0)),
        strides(shape.size(), b.getIndexAttr(1)) {
    for (int64_t extent : shape)
      sizes.push_back(b.getIndexAttr(extent));
    offsets[dim] = b.getIndexAttr(start);
    sizes[dim] = b.getIndexAttr(size);
    strides[dim] = b.getIndexAttr(step);
  }
  SmallVector<OpFoldResult> offsets, sizes, strides;
};
} // namespace

Tensor regather::nodes::slice(B &b, Tensor tensor, int64_t dim, int64_t start,
                              int64_t size, int64_t step) {
  ArrayRef<int64_t> shape = tensor.getType().getShape();
  if (start == 0 && size == shape[dim] && step == 1)
    return tensor;
  // An empty slice may start behind the end.
  if (size == 0)
    start = 0;
  SliceRange range(b, shape, dim, start, size, step);
  auto op = tensor::ExtractSliceOp::create(b, tensor, range.offsets,
                                           range.sizes, range.strides);
  return op.getResult();
}

Tensor regather::nodes::insertSlice(B &b, Tensor source, Tensor into,
                                    int64_t dim, int64_t start, int64_t step) {
  if (source.getType().getDimSize(dim) == 0)
    return into;
  SliceRange range(b, into.getType().getShape(), dim, start,
                   source.getType().getDimSize(dim), step);
  auto op = tensor::InsertSliceOp::create(b, source, into, range.offsets,
                                          range.sizes, range.strides);
  return cast<Tensor>(op.getResult());
}
