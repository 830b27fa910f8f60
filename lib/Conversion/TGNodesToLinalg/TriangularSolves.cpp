//===- TriangularSolves.cpp - Expansions of triangular systems ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeBuilder.h"
#include "StructuredOps.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace regather::nodes;

namespace {
/// matrix [count, n, n] . x = right [count, n, k].
struct TriangularSystem {
  Tensor matrix, right;
  bool isUpper;
  /// The diagonal counts as ones and is not read.
  bool isUnit;

  ArrayRef<int64_t> getShape() const { return right.getType().getShape(); }

  /// Row `place` of x from those that are known, all of which stand in
  /// `known` [count, n, k]. The other triangle may hold anything.
  Tensor solveRow(B &b, Tensor known, Value place) const;
};
} // namespace

/// `tensor[:, row, column : column + width]`, of three dimensions.
static Tensor readRow(B &b, Tensor tensor, Value row, OpFoldResult column,
                      int64_t width) {
  ArrayRef<int64_t> shape = tensor.getType().getShape();
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  SmallVector<OpFoldResult> offsets = {zero, row, column};
  SmallVector<OpFoldResult> sizes = {b.getIndexAttr(shape[0]), one,
                                     b.getIndexAttr(width)};
  return tensor::ExtractSliceOp::create(b, tensor, offsets, sizes,
                                        SmallVector<OpFoldResult>(3, one))
      .getResult();
}

Tensor TriangularSystem::solveRow(B &b, Tensor known, Value place) const {
  ArrayRef<int64_t> shape = getShape();
  int64_t count = shape[0], size = shape[1], width = shape[2];
  Type element = right.getType().getElementType();
  Tensor factors = reshape(
      b, readRow(b, matrix, place, b.getIndexAttr(0), size), {count, size, 1});
  Tensor products = pointwise(
      b, shape, element, {factors, known}, [&](B &b, ValueRange v) -> Value {
        Value column = linalg::IndexOp::create(b, 1);
        Value isKnown = arith::CmpIOp::create(
            b, isUpper ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::ult,
            column, place);
        return arith::SelectOp::create(b, isKnown, mul(b, v[0], v[1]),
                                       makeConstant(b, element, 0.0));
      });
  Tensor sum = reduceSum(b, products, 1, element);
  Tensor rest = readRow(b, right, place, b.getIndexAttr(0), width);
  if (isUnit)
    return pointwise(b, {count, 1, width}, element, {rest, sum},
                     [](B &b, ValueRange v) { return sub(b, v[0], v[1]); });
  Tensor diagonal = readRow(b, matrix, place, place, 1);
  return pointwise(
      b, {count, 1, width}, element, {rest, sum, diagonal},
      [](B &b, ValueRange v) { return div(b, sub(b, v[0], v[1]), v[2]); });
}

/// Row by row, each from the ones before it.
static Tensor solve(B &b, const TriangularSystem &system) {
  ArrayRef<int64_t> shape = system.getShape();
  int64_t size = shape[1];
  Value none =
      fill(b, shape, makeNumber(system.right.getType().getElementType(), 0.0));
  auto loop = scf::ForOp::create(
      b, makeIndex(b, 0), makeIndex(b, size), makeIndex(b, 1), ValueRange(none),
      [&](OpBuilder &builder, Location loc, Value i, ValueRange carried) {
        B b(loc, builder);
        Value place = i;
        if (system.isUpper)
          place = arith::SubIOp::create(b, makeIndex(b, size - 1), i);
        Tensor row = system.solveRow(b, cast<Tensor>(carried[0]), place);
        OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
        SmallVector<OpFoldResult> offsets = {zero, place, zero};
        SmallVector<OpFoldResult> sizes = {b.getIndexAttr(shape[0]), one,
                                           b.getIndexAttr(shape[2])};
        Value result =
            tensor::InsertSliceOp::create(b, row, carried[0], offsets, sizes,
                                          SmallVector<OpFoldResult>(3, one));
        scf::YieldOp::create(b, ValueRange(result));
      });
  return cast<Tensor>(loop.getResult(0));
}

/// Swaps the last two dimensions.
static Tensor swapLast(B &b, Tensor tensor) {
  auto order =
      llvm::to_vector(llvm::seq<int64_t>(0, tensor.getType().getRank()));
  std::swap(order[order.size() - 2], order.back());
  return transpose(b, tensor, order);
}

/// As three dimensions, of which the first is the batch.
static Tensor flattenBatch(B &b, Tensor tensor, ArrayRef<int64_t> batch) {
  ArrayRef<int64_t> own = tensor.getType().getShape().take_back(2);
  SmallVector<int64_t> shape(batch);
  llvm::append_range(shape, own);
  int64_t count = 1;
  for (int64_t size : batch)
    count *= size;
  return reshape(b, broadcast(b, tensor, shape), {count, own[0], own[1]});
}

static LogicalResult buildSolveTriangular(NodeArguments &args, NodeBuilder &b) {
  Tensor matrix = args.getTensor("self"), right = args.getTensor("B");
  bool isUpper = args.getBool("upper");
  bool isLeft = args.getBool("left", true);
  bool isUnit = args.getBool("unitriangular", false);
  if (args.hasFailed())
    return failure();
  RankedTensorType type = matrix.getType();
  if (type.getRank() < 2 ||
      type.getShape().back() != type.getDimSize(type.getRank() - 2))
    return args.fail("self", "must hold square matrices");
  if (!isa<FloatType>(type.getElementType()) ||
      right.getType().getElementType() != type.getElementType())
    return args.fail("B", "must hold floats of the type of \"self\"");
  if (right.getType().getRank() < 2 ||
      right.getType().getShape().take_back(2)[isLeft ? 0 : 1] !=
          type.getShape().back())
    return args.fail("B", Twine("must have as many ") +
                              (isLeft ? "rows" : "columns") + " as \"self\"");
  if (b.getShape().size() < 2 ||
      b.getShape().take_back(2) != right.getType().getShape().take_back(2))
    return args.fail("gives matrices of the shape of \"B\"");
  // The other side is the transposed system.
  if (!isLeft) {
    matrix = swapLast(b, matrix);
    right = swapLast(b, right);
    isUpper = !isUpper;
  }
  ArrayRef<int64_t> batch = b.getShape().drop_back(2);
  for (auto [name, tensor] : {std::pair("self", matrix), {"B", right}}) {
    ArrayRef<int64_t> own = tensor.getType().getShape().drop_back(2);
    bool fits = own.size() <= batch.size();
    for (size_t i = 0; fits && i < own.size(); ++i)
      fits = own[i] == 1 || own[i] == batch.take_back(own.size())[i];
    if (!fits)
      return args.fail(name, "cannot be broadcast to the batch of the result");
  }
  TriangularSystem system{flattenBatch(b, matrix, batch),
                          flattenBatch(b, right, batch), isUpper, isUnit};
  Tensor result = solve(b, system);
  if (!isLeft)
    result = swapLast(b, result);
  return b.finish(reshape(b, result, b.getShape()));
}

void regather::nodes::addTriangularSolveBuilders(BuilderTable &table) {
  table.add(Operator::AtenLinalgSolveTriangular, buildSolveTriangular);
}
