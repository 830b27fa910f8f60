//===- TriangularSolves.cpp - Expansions of triangular systems ------------===//
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

Tensor TriangularSystem::solveRow(B &b, Tensor known, Value place) const {
  ArrayRef<int64_t> shape = getShape();
  int64_t count = shape[0], size = shape[1], width = shape[2];
  Type element = right.getType().getElementType();
  Tensor factors =
      reshape(b, readBlock(b, matrix, place, 1, b.getIndexAttr(0), size),
              {count, size, 1});
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
  Tensor rest = readBlock(b, right, place, 1, b.getIndexAttr(0), width);
  if (isUnit)
    return pointwise(b, {count, 1, width}, element, {rest, sum},
                     [](B &b, ValueRange v) { return sub(b, v[0], v[1]); });
  Tensor diagonal = readBlock(b, matrix, place, 1, place, 1);
  return pointwise(
      b, {count, 1, width}, element, {rest, sum, diagonal},
      [](B &b, ValueRange v) { return div(b, sub(b, v[0], v[1]), v[2]); });
}

/// Row by row, each from the ones before it.
static Tensor solve(B &b, const TriangularSystem &system) {
  ArrayRef<int64_t> shape = system.getShape();
  int64_t size = shape[1];
  Tensor none =
      fill(b, shape, makeNumber(system.right.getType().getElementType(), 0.0));
  return repeat(b, size, none,
                [&](B &b, Value i, ArrayRef<Tensor> known) {
                  Value place = i;
                  if (system.isUpper)
                    place = arith::SubIOp::create(b, makeIndex(b, size - 1), i);
                  Tensor row = system.solveRow(b, known[0], place);
                  return SmallVector<Value>{
                      writeBlock(b, row, known[0], place, b.getIndexAttr(0))};
                })
      .front();
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
    matrix = swapLastDims(b, matrix);
    right = swapLastDims(b, right);
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
    result = swapLastDims(b, result);
  return b.finish(reshape(b, result, b.getShape()));
}

void regather::nodes::addTriangularSolveBuilders(BuilderTable &table) {
  table.add(Operator::AtenLinalgSolveTriangular, buildSolveTriangular);
}
