//===- QrNodes.cpp - Expansions of QR factorizations ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatrixBlocks.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace regather::nodes;

/// `matrices` without their part along `vectors` [count, rows, 1]:
/// (1 - w w^T) M.
static Tensor reflect(B &b, Tensor matrices, Tensor vectors) {
  ArrayRef<int64_t> shape = matrices.getType().getShape();
  Type element = matrices.getType().getElementType();
  Tensor products =
      pointwise(b, shape, element, {matrices, vectors},
                [](B &b, ValueRange v) { return mul(b, v[0], v[1]); });
  return pointwise(
      b, shape, element,
      {matrices, vectors, reduceSum(b, products, 1, element)},
      [](B &b, ValueRange v) { return sub(b, v[0], mul(b, v[1], v[2])); });
}

/// Reflects column `number` to its diagonal, with the signs of LAPACK: the
/// diagonal element has the other sign, unless all below it is zero, when
/// nothing is reflected. Gives the matrices, and `vectors` with a column more.
static SmallVector<Value> eliminate(B &b, Value number, Tensor matrices,
                                    Tensor vectors) {
  ArrayRef<int64_t> shape = matrices.getType().getShape();
  int64_t count = shape[0], rows = shape[1];
  Type element = matrices.getType().getElementType();
  OpFoldResult zero = b.getIndexAttr(0);
  auto compareRow = [&](B &b, arith::CmpIPredicate predicate) -> Value {
    return arith::CmpIOp::create(b, predicate, linalg::IndexOp::create(b, 1),
                                 number);
  };
  Tensor column = readBlock(b, matrices, zero, rows, number, 1);
  Tensor head = readBlock(b, column, number, 1, zero, 1);
  Tensor squares = pointwise(
      b, {count, rows, 1}, element, {column}, [&](B &b, ValueRange v) -> Value {
        return arith::SelectOp::create(
            b, compareRow(b, arith::CmpIPredicate::ugt), mul(b, v[0], v[0]),
            makeConstant(b, element, 0.0));
      });
  Tensor tail = reduceSum(b, squares, 1, element);
  Tensor norm = pointwise(
      b, {count, 1, 1}, element, {head, tail}, [](B &b, ValueRange v) -> Value {
        return math::SqrtOp::create(b, add(b, mul(b, v[0], v[0]), v[1]));
      });
  // Of length sqrt(2): |x| (|x| + |x_0|) is half the square of x + sign |x| e0.
  Tensor vector = pointwise(
      b, {count, rows, 1}, element, {column, head, tail, norm},
      [&](B &b, ValueRange v) -> Value {
        Value none = makeConstant(b, element, 0.0);
        Value scale = math::SqrtOp::create(
            b, mul(b, v[3], add(b, v[3], math::AbsFOp::create(b, v[1]))));
        Value isNegative = compare(b, Relation::Lt, v[1], none);
        Value first = arith::SelectOp::create(b, isNegative, sub(b, v[1], v[3]),
                                              add(b, v[1], v[3]));
        Value part = arith::SelectOp::create(
            b, compareRow(b, arith::CmpIPredicate::eq), first, v[0]);
        Value isAbove = compareRow(b, arith::CmpIPredicate::ult);
        Value isDone = compare(b, Relation::Eq, v[2], none);
        return arith::SelectOp::create(b, add(b, isAbove, isDone), none,
                                       div(b, part, scale));
      });
  return {reflect(b, matrices, vector),
          writeBlock(b, vector, vectors, zero, number)};
}

static LogicalResult buildQr(NodeArguments &args, NodeBuilder &b) {
  FailureOr<Tensor> matrices = readMatrices(args, "A", /*areSquare=*/false);
  StringRef mode = args.getString("mode", "reduced");
  if (failed(matrices) || args.hasFailed())
    return failure();
  if (mode != "reduced" && mode != "complete" && mode != "r")
    return args.fail("mode", "must be \"reduced\", \"complete\" or \"r\"");
  ArrayRef<int64_t> shape = (*matrices).getType().getShape();
  SmallVector<int64_t> batch(shape.drop_back(2));
  Tensor flat = flattenBatch(b, *matrices, batch);
  ArrayRef<int64_t> sizes = flat.getType().getShape();
  int64_t count = sizes[0], rows = sizes[1], columns = sizes[2];
  int64_t numSteps = std::min(rows, columns);
  int64_t kept = mode == "complete" ? rows : numSteps;
  Type element = flat.getType().getElementType();
  TypedAttr none = makeNumber(element, 0.0);
  SmallVector<Tensor> reflected =
      repeat(b, numSteps, {flat, fill(b, {count, rows, numSteps}, none)},
             [&](B &b, Value number, ArrayRef<Tensor> carried) {
               return eliminate(b, number, carried[0], carried[1]);
             });
  auto unflatten = [&](Tensor tensor) -> Value {
    SmallVector<int64_t> full(batch);
    llvm::append_range(full, tensor.getType().getShape().drop_front());
    return reshape(b, tensor, full);
  };
  OpFoldResult zero = b.getIndexAttr(0);
  auto compareDims = [](B &b, arith::CmpIPredicate predicate) -> Value {
    return arith::CmpIOp::create(b, predicate, linalg::IndexOp::create(b, 1),
                                 linalg::IndexOp::create(b, 2));
  };
  // What is left below the diagonal is rounding.
  Tensor upper =
      pointwise(b, {count, kept, columns}, element,
                {readBlock(b, reflected[0], zero, kept, zero, columns)},
                [&](B &b, ValueRange v) -> Value {
                  return arith::SelectOp::create(
                      b, compareDims(b, arith::CmpIPredicate::ugt),
                      makeConstant(b, element, 0.0), v[0]);
                });
  if (mode == "r")
    return b.finish({fill(b, {0}, none), unflatten(upper)});
  // The reflections of the identity, the last one first.
  Tensor identity =
      pointwise(b, {count, rows, kept}, element, {}, [&](B &b, ValueRange) {
        return convertElement(b, compareDims(b, arith::CmpIPredicate::eq),
                              element);
      });
  Tensor orthogonal =
      repeat(b, numSteps, identity,
             [&](B &b, Value i, ArrayRef<Tensor> carried) {
               Value number =
                   arith::SubIOp::create(b, makeIndex(b, numSteps - 1), i);
               return SmallVector<Value>{
                   reflect(b, carried[0],
                           readBlock(b, reflected[1], zero, rows, number, 1))};
             })
          .front();
  return b.finish({unflatten(orthogonal), unflatten(upper)});
}

void regather::nodes::addQrBuilders(BuilderTable &table) {
  table.add(Operator::AtenLinalgQr, buildQr);
}
