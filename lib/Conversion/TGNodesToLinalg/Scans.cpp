//===- Scans.cpp - Expansions that go along a dimension -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scans.h"
#include "NodeBuilder.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>

using namespace mlir;
using namespace regather::nodes;

namespace {
/// The slices of size 1 along a dimension.
struct Slices {
  Slices(B &b, ArrayRef<int64_t> whole, int64_t dim)
      : dim(dim), shape(whole), offsets(whole.size(), b.getIndexAttr(0)),
        strides(whole.size(), b.getIndexAttr(1)) {
    shape[dim] = 1;
    sizes = getAsIndexOpFoldResult(b.getContext(), shape);
  }

  Tensor read(B &b, Tensor tensor, Value place) {
    offsets[dim] = place;
    return tensor::ExtractSliceOp::create(b, tensor, offsets, sizes, strides)
        .getResult();
  }
  Value write(B &b, Tensor slice, Value into, Value place) {
    offsets[dim] = place;
    return tensor::InsertSliceOp::create(b, slice, into, offsets, sizes,
                                         strides);
  }

  int64_t dim;
  SmallVector<int64_t> shape;
  SmallVector<OpFoldResult> offsets, strides, sizes;
};
} // namespace

Tensor regather::nodes::scan(B &b, Tensor source, int64_t dim, TypedAttr start,
                             Type element, ElementFn fn) {
  ArrayRef<int64_t> shape = source.getType().getShape();
  Type compute = start.getType();
  Slices slices(b, shape, dim);
  Value none = fill(b, shape, makeNumber(element, 0.0));
  Value first = fill(b, slices.shape, start);
  auto loop = scf::ForOp::create(
      b, makeIndex(b, 0), makeIndex(b, shape[dim]), makeIndex(b, 1),
      ValueRange{none, first},
      [&](OpBuilder &builder, Location loc, Value i, ValueRange carried) {
        B b(loc, builder);
        Tensor next = slices.read(b, source, i);
        Tensor sum = pointwise(
            b, slices.shape, compute, {cast<Tensor>(carried[1]), next},
            [&](B &b, ValueRange v) -> Value {
              Value operands[] = {v[0], convertElement(b, v[1], compute)};
              return fn(b, operands);
            });
        Value result =
            slices.write(b, convertTensor(b, sum, element), carried[0], i);
        scf::YieldOp::create(b, ValueRange{result, sum});
      });
  return cast<Tensor>(loop.getResult(0));
}

namespace {
/// What scans have in common.
struct Scan {
  /// A scalar counts as having one dimension.
  Tensor self;
  int64_t dim;
};
} // namespace

static FailureOr<Scan> readScan(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  if (args.hasFailed())
    return failure();
  int64_t dim = args.getDim("dim", self.getType().getRank());
  if (args.hasFailed() || failed(args.expectShape("self", self, b.getShape())))
    return failure();
  if (self.getType().getRank() == 0)
    self = reshape(b, self, {1});
  return Scan{self, dim};
}

//===----------------------------------------------------------------------===//
// Sums and products
//===----------------------------------------------------------------------===//

using CombineFn = Value (*)(B &, Value, Value);

/// log(exp(lhs) + exp(rhs)) without overflow. Of two equal infinities, it is
/// one.
static Value logAddExp(B &b, Value lhs, Value rhs) {
  Value low = minimum(b, lhs, rhs), high = maximum(b, lhs, rhs);
  Value sum = add(
      b, math::Log1pOp::create(b, math::ExpOp::create(b, sub(b, low, high))),
      high);
  Value isInfinite = compare(
      b, Relation::Eq, math::AbsFOp::create(b, low),
      makeConstant(b, low.getType(), std::numeric_limits<double>::infinity()));
  Value isOne = mul(b, isInfinite, compare(b, Relation::Eq, low, high));
  return arith::SelectOp::create(b, isOne, high, sum);
}

template <CombineFn Combine, int64_t Start>
static LogicalResult buildRunning(NodeArguments &args, NodeBuilder &b) {
  FailureOr<Scan> read = readScan(args, b);
  if (failed(read))
    return failure();
  Type compute = getComputeType(b.getElement());
  Tensor result =
      scan(b, read->self, read->dim, makeNumber(compute, Start), b.getElement(),
           [](B &b, ValueRange v) { return Combine(b, v[0], v[1]); });
  return b.finish(reshape(b, result, b.getShape()));
}

static LogicalResult buildLogCumSumExp(NodeArguments &args, NodeBuilder &b) {
  FailureOr<Scan> read = readScan(args, b);
  if (failed(read))
    return failure();
  Type compute = getComputeType(b.getElement());
  if (!isa<FloatType>(compute))
    return args.fail("self", "must hold floats");
  Tensor result =
      scan(b, read->self, read->dim, makeLowest(compute), b.getElement(),
           [](B &b, ValueRange v) { return logAddExp(b, v[0], v[1]); });
  return b.finish(reshape(b, result, b.getShape()));
}

//===----------------------------------------------------------------------===//
// Extremes
//===----------------------------------------------------------------------===//

/// The largest or smallest element so far, as `R` says, and its position; of
/// equal elements the last. A NaN beats any number.
template <Relation R>
static LogicalResult buildRunningExtreme(NodeArguments &args, NodeBuilder &b) {
  FailureOr<Scan> read = readScan(args, b);
  if (failed(read))
    return failure();
  auto &[self, dim] = *read;
  ArrayRef<int64_t> shape = self.getType().getShape();
  Type index = b.getI64Type();
  // The position of the best so far; reading there gives the best itself.
  Slices slices(b, shape, dim);
  Tensor source = self;
  int64_t along = dim;
  Value none = fill(b, shape, makeNumber(index, 0.0));
  Value start = fill(b, slices.shape, makeNumber(index, 0.0));
  auto loop = scf::ForOp::create(
      b, makeIndex(b, 0), makeIndex(b, shape[dim]), makeIndex(b, 1),
      ValueRange{none, start},
      [&](OpBuilder &builder, Location loc, Value i, ValueRange carried) {
        B b(loc, builder);
        Tensor best = pointwise(
            b, slices.shape, index, cast<Tensor>(carried[1]),
            [&](B &b, ValueRange v) -> Value {
              SmallVector<Value> place;
              for (int64_t d = 0, rank = shape.size(); d < rank; ++d)
                place.push_back(linalg::IndexOp::create(b, d));
              place[along] =
                  arith::IndexCastOp::create(b, b.getIndexType(), v[0]);
              Value before = tensor::ExtractOp::create(b, source, place);
              place[along] = i;
              Value next = tensor::ExtractOp::create(b, source, place);
              Value isBetter = compare(b, R, next, before);
              if (isa<FloatType>(next.getType())) {
                Value isNaN = compare(b, Relation::Ne, next, next);
                isBetter = add(b, isBetter, isNaN);
              }
              return arith::SelectOp::create(
                  b, isBetter, arith::IndexCastOp::create(b, index, i), v[0]);
            });
        Value result = slices.write(b, best, carried[0], i);
        scf::YieldOp::create(b, ValueRange{result, best});
      });
  auto positions = cast<Tensor>(loop.getResult(0));
  Tensor values =
      pointwise(b, shape, self.getType().getElementType(), positions,
                [&](B &b, ValueRange v) -> Value {
                  SmallVector<Value> place;
                  for (int64_t d = 0, rank = shape.size(); d < rank; ++d)
                    place.push_back(linalg::IndexOp::create(b, d));
                  place[along] =
                      arith::IndexCastOp::create(b, b.getIndexType(), v[0]);
                  return tensor::ExtractOp::create(b, source, place);
                });
  return b.finish({reshape(b, values, b.getShape(0)),
                   reshape(b, positions, b.getShape(1))});
}

void regather::nodes::addScanBuilders(BuilderTable &table) {
  table.add(Operator::AtenCummax, buildRunningExtreme<Relation::Ge>);
  table.add(Operator::AtenCummin, buildRunningExtreme<Relation::Le>);
  table.add(Operator::AtenCumprod, buildRunning<mul, 1>);
  table.add(Operator::AtenCumsum, buildRunning<add, 0>);
  table.add(Operator::AtenLogcumsumexp, buildLogCumSumExp);
}
