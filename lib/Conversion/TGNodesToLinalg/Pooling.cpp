//===- Pooling.cpp - Expansions of pools ----------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dimensions in front of those that are pooled become one.
//
//===----------------------------------------------------------------------===//

#include "NodeBuilder.h"
#include "Scatter.h"
#include "Windows.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace regather::nodes;

namespace {
struct Pool {
  Windows windows;
  /// Product of the leading sizes, and the sizes before and after.
  int64_t outer = 1;
  SmallVector<int64_t> extents, counts;

  SmallVector<int64_t> getInputShape() const { return prepend(extents); }
  SmallVector<int64_t> getOutputShape() const { return prepend(counts); }

private:
  SmallVector<int64_t> prepend(ArrayRef<int64_t> sizes) const {
    SmallVector<int64_t> shape = {outer};
    llvm::append_range(shape, sizes);
    return shape;
  }
};
} // namespace

/// Reads the shapes of a pool along the last `rank` dimensions.
static FailureOr<Pool> getShapes(NodeArguments &args, ArrayRef<int64_t> input,
                                 ArrayRef<int64_t> output, size_t rank) {
  if (input.size() < rank || output.size() != input.size() ||
      input.drop_back(rank) != output.drop_back(rank))
    return args.fail("pools the last " + Twine(rank) +
                     " dimensions, of which all before must stay as they are");
  Pool pool;
  for (int64_t size : input.drop_back(rank))
    pool.outer *= size;
  pool.extents.assign(input.end() - rank, input.end());
  pool.counts.assign(output.end() - rank, output.end());
  return pool;
}

static FailureOr<Pool> getPool(NodeArguments &args, ArrayRef<int64_t> input,
                               ArrayRef<int64_t> output, size_t rank) {
  FailureOr<Pool> pool = getShapes(args, input, output, rank);
  if (failed(pool))
    return failure();
  auto size = getPerDim(args, "kernel_size", rank, {});
  auto stride = getPerDim(args, "stride", rank, size);
  auto padding = getPerDim(args, "padding", rank, 0);
  auto dilation = getPerDim(args, "dilation", rank, 1);
  bool isCeil = args.getBool("ceil_mode", false);
  if (args.hasFailed())
    return failure();
  for (size_t i = 0; i < rank; ++i)
    pool->windows.push_back({size[i], stride[i], padding[i], dilation[i]});
  if (failed(checkWindows(args, pool->windows)))
    return failure();
  for (auto [window, extent, count] :
       llvm::zip_equal(pool->windows, pool->extents, pool->counts)) {
    int64_t expected = window.getCount(extent);
    // With ceil_mode, the last window may reach beyond the end, if it starts in
    // the tensor or in the padding before it.
    if (isCeil &&
        (expected - 1) * window.stride + window.getSpan() <
            extent + 2 * window.padding &&
        expected * window.stride < extent + window.padding)
      ++expected;
    if (count != expected)
      return args.fail("moves windows over " + Twine(extent) +
                       " positions, which gives " + Twine(expected) + ", got " +
                       Twine(count));
  }
  return pool;
}

//===----------------------------------------------------------------------===//
// Loops over windows
//===----------------------------------------------------------------------===//

namespace {
/// The loops of a pool: outer, results, then elements of the window.
struct PoolLoops {
  SmallVector<AffineMap> maps;
  SmallVector<utils::IteratorType> kinds;
  /// An operand whose shape gives the loops the sizes of the windows.
  Value sizes;
};
} // namespace

/// The maps are of the padded tensor, the sizes and `numResults` results.
static PoolLoops makeLoops(B &b, const Windows &windows, Type element,
                           unsigned numResults) {
  auto rank = static_cast<unsigned>(windows.size());
  SmallVector<AffineExpr> read = {b.getAffineDimExpr(0)}, kernels;
  SmallVector<int64_t> sizes;
  for (auto [i, window] : llvm::enumerate(windows)) {
    kernels.push_back(b.getAffineDimExpr(1 + rank + i));
    read.push_back(
        getWindowPosition(window, b.getAffineDimExpr(1 + i), kernels.back()));
    sizes.push_back(window.size);
  }
  auto makeMap = [&](ArrayRef<AffineExpr> exprs) {
    return AffineMap::get(1 + 2 * rank, 0, exprs, b.getContext());
  };
  PoolLoops loops;
  loops.maps = {makeMap(read), makeMap(kernels)};
  AffineMap written =
      AffineMap::getMultiDimIdentityMap(1 + 2 * rank, b.getContext())
          .getMajorSubMap(1 + rank);
  loops.maps.append(numResults, written);
  loops.kinds.append(1 + rank, utils::IteratorType::parallel);
  loops.kinds.append(rank, utils::IteratorType::reduction);
  loops.sizes = tensor::EmptyOp::create(b, sizes, element);
  return loops;
}

/// Sums of the windows of a padded tensor, in the compute type.
static Tensor sumWindows(B &b, Tensor padded, const Windows &windows,
                         ArrayRef<int64_t> shape) {
  Type compute = getComputeType(padded.getType().getElementType());
  PoolLoops loops = makeLoops(b, windows, compute, 1);
  Value zero = fill(b, shape, makeNumber(compute, 0.0));
  auto generic = linalg::GenericOp::create(
      b, zero.getType(), ValueRange{padded, loops.sizes}, zero, loops.maps,
      loops.kinds, [&](OpBuilder &builder, Location loc, ValueRange v) {
        B b(loc, builder);
        linalg::YieldOp::create(b,
                                add(b, v[2], convertElement(b, v[0], compute)));
      });
  return cast<Tensor>(generic.getResult(0));
}

//===----------------------------------------------------------------------===//
// Maximum
//===----------------------------------------------------------------------===//

/// The position in the tensor that a window's element has, counted in row-major
/// order over the pooled dimensions, and whether there is one.
static std::pair<Value, Value> getPlace(B &b, const Pool &pool) {
  size_t rank = pool.windows.size();
  Value place = makeIndex(b, 0), isInside = makeConstant(b, b.getI1Type(), 1.0);
  for (auto [i, window] : llvm::enumerate(pool.windows)) {
    Value start = linalg::IndexOp::create(b, 1 + i);
    Value offset = linalg::IndexOp::create(b, 1 + rank + i);
    Value extent = makeIndex(b, pool.extents[i]);
    Value position = arith::SubIOp::create(
        b,
        arith::AddIOp::create(
            b, arith::MulIOp::create(b, start, makeIndex(b, window.stride)),
            arith::MulIOp::create(b, offset, makeIndex(b, window.dilation))),
        makeIndex(b, window.padding));
    // Unsigned: a negative position is a large one.
    isInside = arith::AndIOp::create(
        b, isInside,
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, position, extent));
    place = arith::AddIOp::create(b, arith::MulIOp::create(b, place, extent),
                                  position);
  }
  return {arith::IndexCastOp::create(b, b.getI64Type(), place), isInside};
}

/// Largest elements and their places: the first one of equal elements, but the
/// last one if there are NaNs.
template <size_t Rank>
static LogicalResult buildMax(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  if (args.hasFailed())
    return failure();
  RankedTensorType type = self.getType();
  Type element = type.getElementType();
  FailureOr<Pool> pool = getPool(args, type.getShape(), b.getShape(), Rank);
  if (failed(pool))
    return failure();
  Tensor padded =
      padForWindows(b, reshape(b, self, pool->getInputShape()), pool->windows,
                    pool->counts, makeLowest(element));
  PoolLoops loops = makeLoops(b, pool->windows, element, 2);
  SmallVector<int64_t> shape = pool->getOutputShape();
  Value best = fill(b, shape, makeLowest(element));
  Value places = fill(b, shape, b.getI64IntegerAttr(-1));
  auto generic = linalg::GenericOp::create(
      b, TypeRange{best.getType(), places.getType()},
      ValueRange{padded, loops.sizes}, ValueRange{best, places}, loops.maps,
      loops.kinds, [&](OpBuilder &builder, Location loc, ValueRange v) {
        B b(loc, builder);
        auto [place, isInside] = getPlace(b, *pool);
        Value none = makeConstant(b, b.getI64Type(), 0.0);
        Value take = add(b, compare(b, Relation::Lt, v[3], none),
                         compare(b, Relation::Gt, v[0], v[2]));
        take = add(b, take, compare(b, Relation::Ne, v[0], v[0]));
        take = mul(b, take, isInside);
        Value values[] = {arith::SelectOp::create(b, take, v[0], v[2]),
                          arith::SelectOp::create(b, take, place, v[3])};
        linalg::YieldOp::create(b, values);
      });
  return b.finish(
      {reshape(b, cast<Tensor>(generic.getResult(0)), b.getShape()),
       reshape(b, cast<Tensor>(generic.getResult(1)), b.getShape())});
}

/// Each gradient goes to the place that was chosen.
template <size_t Rank>
static LogicalResult buildMaxBackward(NodeArguments &args, NodeBuilder &b) {
  Tensor grad = args.getTensor("grad_output");
  Tensor indices = args.getTensor("indices");
  if (failed(args.expectIndices("indices", indices)))
    return failure();
  ArrayRef<int64_t> shape = grad.getType().getShape();
  FailureOr<Pool> pool = getShapes(args, b.getShape(), shape, Rank);
  if (failed(pool) || failed(args.expectShape("indices", indices, shape)))
    return failure();
  int64_t size = 1, count = 1;
  for (auto [extent, results] : llvm::zip_equal(pool->extents, pool->counts)) {
    size *= extent;
    count *= results;
  }
  Tensor rows = pointwise(
      b, {pool->outer, count}, b.getI64Type(),
      reshape(b, indices, {pool->outer, count}), [&](B &b, ValueRange v) {
        Value outer = arith::IndexCastOp::create(b, b.getI64Type(),
                                                 linalg::IndexOp::create(b, 0));
        Value start =
            mul(b, outer,
                makeConstant(b, b.getI64Type(), b.getI64IntegerAttr(size)));
        return add(b, start, convertElement(b, v[0], b.getI64Type()));
      });
  Tensor zero = fill(b, b.getShape(), makeNumber(b.getElement(), 0.0));
  return b.finish(
      scatterInto(b, zero, rows, grad, /*width=*/1, /*accumulate=*/true));
}

//===----------------------------------------------------------------------===//
// Average
//===----------------------------------------------------------------------===//

namespace {
/// What sums of windows are divided by.
struct Divisor {
  const Pool &pool;
  bool countsPadding = true;
  /// Or zero.
  int64_t fixed = 0;

  Value make(B &b, Type type) const;
};
} // namespace

/// The number of elements of the window at the position of the loops. Elements
/// beyond the padding never count.
Value Divisor::make(B &b, Type type) const {
  if (fixed != 0)
    return makeConstant(b, type, static_cast<double>(fixed));
  Value count = makeIndex(b, 1);
  for (auto [i, window] : llvm::enumerate(pool.windows)) {
    int64_t padding = countsPadding ? window.padding : 0;
    Value start = arith::SubIOp::create(
        b,
        arith::MulIOp::create(b, linalg::IndexOp::create(b, 1 + i),
                              makeIndex(b, window.stride)),
        makeIndex(b, window.padding));
    Value end = arith::AddIOp::create(b, start, makeIndex(b, window.size));
    start = arith::MaxSIOp::create(b, start, makeIndex(b, -padding));
    end =
        arith::MinSIOp::create(b, end, makeIndex(b, pool.extents[i] + padding));
    count =
        arith::MulIOp::create(b, count, arith::SubIOp::create(b, end, start));
  }
  return convertElement(b, arith::IndexCastOp::create(b, b.getI64Type(), count),
                        type);
}

static FailureOr<Divisor> getDivisor(NodeArguments &args, const Pool &pool) {
  Divisor divisor{pool, args.getBool("count_include_pad", true), 0};
  if (args.has("divisor_override")) {
    divisor.fixed = args.getInt("divisor_override");
    if (divisor.fixed == 0)
      return args.fail("divisor_override", "must not be 0");
  }
  if (args.hasFailed())
    return failure();
  return divisor;
}

template <size_t Rank>
static LogicalResult buildAverage(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  if (args.hasFailed())
    return failure();
  RankedTensorType type = self.getType();
  FailureOr<Pool> pool = getPool(args, type.getShape(), b.getShape(), Rank);
  if (failed(pool))
    return failure();
  FailureOr<Divisor> divisor = getDivisor(args, *pool);
  if (failed(divisor))
    return failure();
  Tensor padded =
      padForWindows(b, reshape(b, self, pool->getInputShape()), pool->windows,
                    pool->counts, makeNumber(type.getElementType(), 0.0));
  SmallVector<int64_t> shape = pool->getOutputShape();
  Tensor sums = sumWindows(b, padded, pool->windows, shape);
  Tensor means =
      pointwise(b, shape, b.getElement(), sums, [&](B &b, ValueRange v) {
        return div(b, v[0], divisor->make(b, v[0].getType()));
      });
  return b.finish(reshape(b, means, b.getShape()));
}

template <size_t Rank>
static LogicalResult buildAverageBackward(NodeArguments &args, NodeBuilder &b) {
  Tensor grad = args.getTensor("grad_output");
  if (args.hasFailed())
    return failure();
  FailureOr<Pool> pool =
      getPool(args, b.getShape(), grad.getType().getShape(), Rank);
  if (failed(pool))
    return failure();
  FailureOr<Divisor> divisor = getDivisor(args, *pool);
  if (failed(divisor))
    return failure();
  Type compute = getComputeType(b.getElement());
  SmallVector<int64_t> shape = pool->getOutputShape();
  Tensor shares = pointwise(b, shape, compute, reshape(b, grad, shape),
                            [&](B &b, ValueRange v) {
                              return div(b, convertElement(b, v[0], compute),
                                         divisor->make(b, compute));
                            });
  Tensor spread = spreadForWindows(b, shares, pool->windows, pool->extents);
  Windows windows = pool->windows;
  for (Window &window : windows)
    window.stride = 1;
  Tensor sums = sumWindows(b, spread, windows, pool->getInputShape());
  sums = convertTensor(b, sums, b.getElement());
  return b.finish(reshape(b, sums, b.getShape()));
}

//===----------------------------------------------------------------------===//
// Adaptive average
//===----------------------------------------------------------------------===//

// Along one dimension, result i is the mean of positions from
// floor(i * extent / count) to ceil((i + 1) * extent / count).

/// Whether `position` is in window `result`, and the size of that.
static std::pair<Value, Value> getMembership(B &b, Value position, Value result,
                                             int64_t extent, int64_t count) {
  Value size = makeIndex(b, extent), parts = makeIndex(b, count);
  Value one = makeIndex(b, 1);
  Value start =
      arith::DivUIOp::create(b, arith::MulIOp::create(b, result, size), parts);
  Value last =
      arith::MulIOp::create(b, arith::AddIOp::create(b, result, one), size);
  last = arith::AddIOp::create(b, last, makeIndex(b, count - 1));
  Value end = arith::DivUIOp::create(b, last, parts);
  Value isInside = arith::AndIOp::create(
      b, arith::CmpIOp::create(b, arith::CmpIPredicate::uge, position, start),
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, position, end));
  return {isInside, arith::SubIOp::create(b, end, start)};
}

/// Means along dimension `dim`, of which there are `to`; or, backwards, from
/// the gradients of the means those of the `to` elements.
static Tensor averageAlong(B &b, Tensor tensor, int64_t dim, int64_t to,
                           bool isBackward) {
  RankedTensorType type = tensor.getType();
  int64_t rank = type.getRank(), from = type.getDimSize(dim);
  if (from == to)
    return tensor;
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = to;
  // The last loop is over what is summed.
  SmallVector<AffineExpr> read;
  for (int64_t d = 0; d < rank; ++d)
    read.push_back(b.getAffineDimExpr(d == dim ? rank : d));
  SmallVector<AffineMap> maps = {
      AffineMap::get(rank + 1, 0, read, b.getContext()),
      AffineMap::getMultiDimIdentityMap(rank + 1, b.getContext())
          .getMajorSubMap(rank)};
  SmallVector<utils::IteratorType> kinds(rank, utils::IteratorType::parallel);
  kinds.push_back(utils::IteratorType::reduction);
  Type element = type.getElementType();
  Value zero = fill(b, shape, makeNumber(element, 0.0));
  auto generic = linalg::GenericOp::create(
      b, zero.getType(), ValueRange(tensor), zero, maps, kinds,
      [&](OpBuilder &builder, Location loc, ValueRange v) {
        B b(loc, builder);
        Value target = linalg::IndexOp::create(b, dim);
        Value source = linalg::IndexOp::create(b, rank);
        auto [isInside, size] =
            isBackward ? getMembership(b, target, source, to, from)
                       : getMembership(b, source, target, from, to);
        Value count = convertElement(
            b, arith::IndexCastOp::create(b, b.getI64Type(), size), element);
        Value part = arith::SelectOp::create(b, isInside, div(b, v[0], count),
                                             makeConstant(b, element, 0.0));
        linalg::YieldOp::create(b, add(b, v[1], part));
      });
  return cast<Tensor>(generic.getResult(0));
}

template <size_t Rank, bool IsBackward>
static LogicalResult buildAdaptiveAverage(NodeArguments &args, NodeBuilder &b) {
  Tensor source = args.getTensor(IsBackward ? "grad_output" : "self");
  if (args.hasFailed())
    return failure();
  ArrayRef<int64_t> shape = source.getType().getShape(), result = b.getShape();
  FailureOr<Pool> pool = IsBackward ? getShapes(args, result, shape, Rank)
                                    : getShapes(args, shape, result, Rank);
  if (failed(pool))
    return failure();
  if (!isa<FloatType>(b.getElement()))
    return args.fail("expects floats");
  if (llvm::is_contained(shape, 0) || llvm::is_contained(result, 0))
    return args.fail("expects tensors with elements");
  Tensor value = convertTensor(b, source, getComputeType(b.getElement()));
  for (size_t d = shape.size() - Rank; d < shape.size(); ++d)
    value = averageAlong(b, value, d, result[d], IsBackward);
  return b.finish(convertTensor(b, value, b.getElement()));
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

void regather::nodes::addPoolingBuilders(BuilderTable &table) {
  table.add(Operator::AtenAvgPool2d, buildAverage<2>);
  table.add(Operator::AtenAvgPool2dBackward, buildAverageBackward<2>);
  table.add(Operator::AtenAvgPool3d, buildAverage<3>);
  table.add(Operator::AtenAvgPool3dBackward, buildAverageBackward<3>);
  table.add(Operator::AtenInnerAdaptiveAvgPool2d,
            buildAdaptiveAverage<2, false>);
  table.add(Operator::AtenInnerAdaptiveAvgPool2dBackward,
            buildAdaptiveAverage<2, true>);
  table.add(Operator::AtenInnerAdaptiveAvgPool3d,
            buildAdaptiveAverage<3, false>);
  table.add(Operator::AtenInnerAdaptiveAvgPool3dBackward,
            buildAdaptiveAverage<3, true>);
  table.add(Operator::AtenMaxPool2dWithIndices, buildMax<2>);
  table.add(Operator::AtenMaxPool2dWithIndicesBackward, buildMaxBackward<2>);
  table.add(Operator::AtenMaxPool3dWithIndices, buildMax<3>);
  table.add(Operator::AtenMaxPool3dWithIndicesBackward, buildMaxBackward<3>);
}
