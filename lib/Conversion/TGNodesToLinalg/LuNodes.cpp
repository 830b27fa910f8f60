//===- LuNodes.cpp - Expansions of LU factorizations ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatrixBlocks.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace regather::nodes;

/// Element `[i, row, k]` of `tensor` for element `[i, j, k]` of what is built.
static Value extractFromRow(B &b, Tensor tensor, Value row) {
  row = arith::IndexCastOp::create(b, b.getIndexType(), row);
  return tensor::ExtractOp::create(b, tensor,
                                   ValueRange{linalg::IndexOp::create(b, 0),
                                              row,
                                              linalg::IndexOp::create(b, 2)});
}

/// The position along `dim` of the element that is built.
static Value getPlace(B &b, int64_t dim) {
  return arith::IndexCastOp::create(b, b.getI64Type(),
                                    linalg::IndexOp::create(b, dim));
}

namespace {
/// Eliminates one column after the other, with the largest element of what is
/// left of it as pivot (of several, the first), as LAPACK's `getrf` does.
struct LuFactorization {
  int64_t count, rows, columns;
  Type element;

  /// Of matrices [count, rows, columns], pivots [count, n, 1], which begin with
  /// 1, and info [count, 1, 1].
  SmallVector<Value> eliminate(B &b, Value number, Tensor matrices,
                               Tensor pivots, Tensor info) const;
};
} // namespace

SmallVector<Value> LuFactorization::eliminate(B &b, Value number,
                                              Tensor matrices, Tensor pivots,
                                              Tensor info) const {
  Value step = arith::IndexCastOp::create(b, b.getI64Type(), number);
  OpFoldResult zero = b.getIndexAttr(0);
  Tensor column = readBlock(b, matrices, zero, rows, number, 1);
  Tensor sizes = pointwise(
      b, {count, rows, 1}, element, {column}, [&](B &b, ValueRange v) -> Value {
        return arith::SelectOp::create(
            b, compare(b, Relation::Lt, getPlace(b, 1), step),
            makeConstant(b, element, -1.0), math::AbsFOp::create(b, v[0]));
      });
  Tensor chosen = reduceArgExtreme(b, sizes, 1, Relation::Gt).second;

  // Rows `number` and `chosen` change places.
  Tensor row = readBlock(b, matrices, number, 1, zero, columns);
  Tensor pivotRow = pointwise(
      b, {count, 1, columns}, element, {chosen},
      [&](B &b, ValueRange v) { return extractFromRow(b, matrices, v[0]); });
  Tensor pivot = readBlock(b, pivotRow, zero, 1, number, 1);
  // Where the pivot is zero, so is what it would divide.
  Tensor factors = pointwise(
      b, {count, rows, 1}, element,
      {column, readBlock(b, row, zero, 1, number, 1), pivot, chosen},
      [&](B &b, ValueRange v) -> Value {
        Value isChosen = compare(b, Relation::Eq, getPlace(b, 1), v[3]);
        Value own = arith::SelectOp::create(b, isChosen, v[1], v[0]);
        Value isZero =
            compare(b, Relation::Eq, v[2], makeConstant(b, element, 0.0));
        return arith::SelectOp::create(b, isZero, own, div(b, own, v[2]));
      });
  Tensor eliminated = pointwise(
      b, {count, rows, columns}, element,
      {matrices, row, pivotRow, factors, chosen},
      [&](B &b, ValueRange v) -> Value {
        Value i = getPlace(b, 1), j = getPlace(b, 2);
        Value own = arith::SelectOp::create(
            b, compare(b, Relation::Eq, i, v[4]), v[1], v[0]);
        Value below = arith::SelectOp::create(
            b, compare(b, Relation::Eq, j, step), v[3],
            arith::SelectOp::create(b, compare(b, Relation::Lt, j, step), own,
                                    sub(b, own, mul(b, v[3], v[2]))));
        return arith::SelectOp::create(
            b, compare(b, Relation::Gt, i, step), below,
            arith::SelectOp::create(b, compare(b, Relation::Eq, i, step), v[2],
                                    v[0]));
      });

  Type i32 = b.getI32Type();
  Value one = makeConstant(b, b.getI64Type(), 1.0);
  Tensor place =
      pointwise(b, {count, 1, 1}, i32, {chosen},
                [&](B &b, ValueRange v) { return add(b, v[0], one); });
  Tensor newInfo = pointwise(
      b, {count, 1, 1}, i32, {info, pivot}, [&](B &b, ValueRange v) -> Value {
        Value isFirst =
            mul(b, compare(b, Relation::Eq, v[0], makeConstant(b, i32, 0.0)),
                compare(b, Relation::Eq, v[1], makeConstant(b, element, 0.0)));
        return arith::SelectOp::create(
            b, isFirst, convertElement(b, add(b, step, one), i32), v[0]);
      });
  return {eliminated, writeBlock(b, place, pivots, number, zero), newInfo};
}

static LogicalResult buildLuFactorEx(NodeArguments &args, NodeBuilder &b) {
  FailureOr<Tensor> matrices = readMatrices(args, "A", /*areSquare=*/false);
  bool pivots = args.getBool("pivot", true);
  if (failed(matrices) || args.hasFailed())
    return failure();
  if (!pivots)
    return args.fail("pivot", "must be true: no engine leaves pivots out");
  ArrayRef<int64_t> shape = (*matrices).getType().getShape();
  SmallVector<int64_t> batch(shape.drop_back(2));
  Tensor flat = flattenBatch(b, *matrices, batch);
  ArrayRef<int64_t> sizes = flat.getType().getShape();
  LuFactorization factorization{sizes[0], sizes[1], sizes[2],
                                flat.getType().getElementType()};
  int64_t numSteps = std::min(sizes[1], sizes[2]);
  TypedAttr zero = b.getI32IntegerAttr(0);
  SmallVector<Tensor> results =
      repeat(b, numSteps,
             {flat, fill(b, {sizes[0], numSteps, 1}, zero),
              fill(b, {sizes[0], 1, 1}, zero)},
             [&](B &b, Value number, ArrayRef<Tensor> carried) {
               return factorization.eliminate(b, number, carried[0], carried[1],
                                              carried[2]);
             });
  SmallVector<int64_t> pivotShape(batch);
  pivotShape.push_back(numSteps);
  return b.finish({reshape(b, results[0], shape),
                   reshape(b, results[1], pivotShape),
                   reshape(b, results[2], batch)});
}

/// For each row of LU the row of the matrix that it was, [count, rows, 1].
static Tensor permute(B &b, Tensor pivots, int64_t rows) {
  ArrayRef<int64_t> shape = pivots.getType().getShape();
  int64_t count = shape[0];
  Type i64 = b.getI64Type();
  Tensor own = pointwise(b, {count, rows, 1}, i64, {},
                         [](B &b, ValueRange) { return getPlace(b, 1); });
  return repeat(
             b, shape[1], own,
             [&](B &b, Value number, ArrayRef<Tensor> carried) {
               Value step = arith::IndexCastOp::create(b, i64, number);
               Value one = makeConstant(b, i64, 1.0);
               OpFoldResult zero = b.getIndexAttr(0);
               Tensor order = carried[0];
               Tensor other =
                   pointwise(b, {count, 1, 1}, i64,
                             {readBlock(b, pivots, number, 1, zero, 1)},
                             [&](B &b, ValueRange v) {
                               return sub(b, convertElement(b, v[0], i64), one);
                             });
               Tensor theirs = pointwise(
                   b, {count, 1, 1}, i64, {other}, [&](B &b, ValueRange v) {
                     return extractFromRow(b, order, v[0]);
                   });
               Tensor swapped = pointwise(
                   b, {count, rows, 1}, i64,
                   {order, readBlock(b, order, number, 1, zero, 1), theirs,
                    other},
                   [&](B &b, ValueRange v) -> Value {
                     Value place = getPlace(b, 1);
                     Value rest = arith::SelectOp::create(
                         b, compare(b, Relation::Eq, place, v[3]), v[1], v[0]);
                     return arith::SelectOp::create(
                         b, compare(b, Relation::Eq, place, step), v[2], rest);
                   });
               return SmallVector<Value>{swapped};
             })
      .front();
}

static LogicalResult buildLuUnpack(NodeArguments &args, NodeBuilder &b) {
  FailureOr<Tensor> data = readMatrices(args, "LU_data", /*areSquare=*/false);
  Tensor pivots = args.getTensor("LU_pivots");
  bool hasData = args.getBool("unpack_data", true);
  bool hasPivots = args.getBool("unpack_pivots", true);
  if (failed(data) || args.hasFailed())
    return failure();
  ArrayRef<int64_t> shape = (*data).getType().getShape();
  SmallVector<int64_t> batch(shape.drop_back(2));
  int64_t rows = shape[shape.size() - 2], columns = shape.back();
  int64_t size = std::min(rows, columns);
  SmallVector<int64_t> expected(batch);
  expected.push_back(size);
  if (pivots.getType().getShape() != ArrayRef(expected) ||
      !pivots.getType().getElementType().isInteger(32))
    return args.fail("LU_pivots", "must be i32, one for each column of L");
  Tensor flat = flattenBatch(b, *data, batch);
  Type element = flat.getType().getElementType();
  int64_t count = flat.getType().getDimSize(0);
  auto unflatten = [&](Tensor tensor) -> Value {
    SmallVector<int64_t> full(batch);
    llvm::append_range(full, tensor.getType().getShape().drop_front());
    return reshape(b, tensor, full);
  };
  // What is not asked for has no elements.
  TypedAttr zero = makeNumber(element, 0.0);
  Value results[] = {fill(b, {0}, zero), fill(b, {0}, zero),
                     fill(b, {0}, zero)};
  if (hasPivots) {
    Tensor order = permute(b, reshape(b, pivots, {count, size, 1}), rows);
    order = reshape(b, order, {count, 1, rows});
    results[0] = unflatten(pointwise(
        b, {count, rows, rows}, element, {order}, [&](B &b, ValueRange v) {
          return convertElement(
              b, compare(b, Relation::Eq, getPlace(b, 1), v[0]), element);
        }));
  }
  if (hasData) {
    OpFoldResult first = b.getIndexAttr(0);
    Value none = makeConstant(b, element, 0.0);
    Value one = makeConstant(b, element, 1.0);
    results[1] = unflatten(
        pointwise(b, {count, rows, size}, element,
                  {readBlock(b, flat, first, rows, first, size)},
                  [&](B &b, ValueRange v) -> Value {
                    Value i = getPlace(b, 1), j = getPlace(b, 2);
                    return arith::SelectOp::create(
                        b, compare(b, Relation::Gt, i, j), v[0],
                        arith::SelectOp::create(
                            b, compare(b, Relation::Eq, i, j), one, none));
                  }));
    results[2] = unflatten(pointwise(
        b, {count, size, columns}, element,
        {readBlock(b, flat, first, size, first, columns)},
        [&](B &b, ValueRange v) -> Value {
          return arith::SelectOp::create(
              b, compare(b, Relation::Le, getPlace(b, 1), getPlace(b, 2)), v[0],
              none);
        }));
  }
  return b.finish(results);
}

void regather::nodes::addLuBuilders(BuilderTable &table) {
  table.add(Operator::AtenLinalgLuFactorEx, buildLuFactorEx);
  table.add(Operator::AtenLuUnpack, buildLuUnpack);
}
