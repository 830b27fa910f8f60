//===- CholeskyNodes.cpp - Expansions of Cholesky factorizations ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatrixBlocks.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <cmath>

using namespace mlir;
using namespace regather::nodes;

/// Column `number` of the lower factor from those before it, which stand in
/// `factor`, where all others are zero; and whether, as info, its leading minor
/// is the first that is not positive. Reads the lower triangle of `matrices`.
static SmallVector<Value> addColumn(B &b, Tensor matrices, Value number,
                                    Tensor factor, Tensor info) {
  ArrayRef<int64_t> shape = matrices.getType().getShape();
  int64_t count = shape[0], size = shape[1];
  Type element = matrices.getType().getElementType();
  OpFoldResult zero = b.getIndexAttr(0);
  Tensor products = pointwise(
      b, shape, element, {factor, readBlock(b, factor, number, 1, zero, size)},
      [](B &b, ValueRange v) { return mul(b, v[0], v[1]); });
  Tensor rest =
      pointwise(b, {count, size, 1}, element,
                {readBlock(b, matrices, zero, size, number, 1),
                 reduceSum(b, products, 2, element)},
                [](B &b, ValueRange v) { return sub(b, v[0], v[1]); });
  Tensor minor = readBlock(b, rest, number, 1, zero, 1);
  Tensor root = pointwise(
      b, {count, 1, 1}, element, {minor}, [&](B &b, ValueRange v) -> Value {
        // Also of 0, by which nothing can be divided.
        Value isPositive =
            compare(b, Relation::Gt, v[0], makeConstant(b, element, 0.0));
        return arith::SelectOp::create(b, isPositive,
                                       math::SqrtOp::create(b, v[0]),
                                       makeConstant(b, element, std::nan("")));
      });
  Tensor column = pointwise(
      b, {count, size, 1}, element, {rest, root},
      [&](B &b, ValueRange v) -> Value {
        Value place = linalg::IndexOp::create(b, 1);
        auto is = [&](arith::CmpIPredicate predicate) {
          return arith::CmpIOp::create(b, predicate, place, number);
        };
        return arith::SelectOp::create(
            b, is(arith::CmpIPredicate::ult), makeConstant(b, element, 0.0),
            arith::SelectOp::create(b, is(arith::CmpIPredicate::eq), v[1],
                                    div(b, v[0], v[1])));
      });
  Type i32 = b.getI32Type();
  Tensor newInfo = pointwise(
      b, {count, 1, 1}, i32, {info, minor}, [&](B &b, ValueRange v) -> Value {
        Value place = convertElement(
            b, arith::IndexCastOp::create(b, b.getI64Type(), number), i32);
        // A NaN is not positive.
        Value isPositive =
            compare(b, Relation::Gt, v[1], makeConstant(b, element, 0.0));
        Value isKnown =
            compare(b, Relation::Ne, v[0], makeConstant(b, i32, 0.0));
        return arith::SelectOp::create(
            b, add(b, isPositive, isKnown), v[0],
            add(b, place, makeConstant(b, i32, 1.0)));
      });
  return {writeBlock(b, column, factor, zero, number), newInfo};
}

static LogicalResult buildCholeskyEx(NodeArguments &args, NodeBuilder &b) {
  FailureOr<Tensor> matrices = readMatrices(args, "self", /*areSquare=*/true);
  bool isUpper = args.getBool("upper", false);
  if (failed(matrices) || args.hasFailed())
    return failure();
  SmallVector<int64_t> shape((*matrices).getType().getShape());
  ArrayRef<int64_t> batch = ArrayRef(shape).drop_back(2);
  // The upper factor is the transposed lower one, of the other triangle.
  Tensor flat =
      flattenBatch(b, isUpper ? swapLastDims(b, *matrices) : *matrices, batch);
  Type element = flat.getType().getElementType();
  int64_t count = flat.getType().getDimSize(0);
  SmallVector<Tensor> results =
      repeat(b, shape.back(),
             {fill(b, flat.getType().getShape(), makeNumber(element, 0.0)),
              fill(b, {count, 1, 1}, b.getI32IntegerAttr(0))},
             [&](B &b, Value number, ArrayRef<Tensor> carried) {
               return addColumn(b, flat, number, carried[0], carried[1]);
             });
  Tensor factor = isUpper ? swapLastDims(b, results[0]) : results[0];
  return b.finish({reshape(b, factor, shape), reshape(b, results[1], batch)});
}

void regather::nodes::addCholeskyBuilders(BuilderTable &table) {
  table.add(Operator::AtenLinalgCholeskyEx, buildCholeskyEx);
}
