//===- Searching.cpp - Expansions that search sorted elements -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeBuilder.h"
#include "Scans.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace regather::nodes;

namespace {
/// Rows of keys in ascending order.
struct SortedRows {
  /// [rows, size].
  Tensor keys;
  /// The position of each key; null where they lie in their order.
  Tensor sorter;
  /// Whether a key that equals the value comes before it.
  bool isRight;

  int64_t getSize() const { return keys.getType().getDimSize(1); }

  /// How many keys of `row` come before `value`, as an index: a bisection of
  /// log2(size + 1) steps, which may read any key but none outside of the row.
  Value countBefore(B &b, Value row, Value value) const;
};
} // namespace

Value SortedRows::countBefore(B &b, Value row, Value value) const {
  Value begin = makeIndex(b, 0), end = makeIndex(b, getSize());
  Value last = makeIndex(b, getSize() - 1), one = makeIndex(b, 1);
  for (unsigned i = 0, steps = llvm::Log2_64_Ceil(getSize() + 1); i < steps;
       ++i) {
    Value middle =
        arith::ShRUIOp::create(b, arith::AddIOp::create(b, begin, end), one);
    // An interval that is empty already may lie behind the last key.
    Value place = arith::MinUIOp::create(b, middle, last);
    if (sorter)
      place = arith::IndexCastOp::create(
          b, b.getIndexType(),
          tensor::ExtractOp::create(b, sorter, ValueRange{row, place}));
    Value key = tensor::ExtractOp::create(b, keys, ValueRange{row, place});
    // Like PyTorch's, so that all keys come before a NaN.
    Value isBehind =
        compare(b, isRight ? Relation::Gt : Relation::Ge, key, value);
    Value isBefore =
        arith::XOrIOp::create(b, isBehind, makeConstant(b, b.getI1Type(), 1.0));
    Value isOpen =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, begin, end);
    Value next = arith::AddIOp::create(b, middle, one);
    Value takes = arith::AndIOp::create(b, isOpen, isBefore);
    Value leaves = arith::AndIOp::create(b, isOpen, isBehind);
    begin = arith::SelectOp::create(b, takes, next, begin);
    end = arith::SelectOp::create(b, leaves, middle, end);
  }
  return begin;
}

/// The number of keys before each value, where row i of [rows, width] values
/// searches row i of the keys, or all the only one.
static Tensor search(B &b, const SortedRows &rows, Tensor values) {
  ArrayRef<int64_t> shape = values.getType().getShape();
  Type index = b.getI64Type();
  if (rows.getSize() == 0)
    return cast<Tensor>(fill(b, shape, makeNumber(index, 0.0)));
  bool isShared = rows.keys.getType().getDimSize(0) == 1;
  return pointwise(b, shape, index, values, [&](B &b, ValueRange v) -> Value {
    Value row =
        isShared ? makeIndex(b, 0) : Value(linalg::IndexOp::create(b, 0));
    return arith::IndexCastOp::create(b, index, rows.countBefore(b, row, v[0]));
  });
}

/// Searches `keys`, of one dimension or of those of `values` but for the last.
static LogicalResult finishSearch(NodeArguments &args, NodeBuilder &b,
                                  StringRef keysName, Tensor keys,
                                  Tensor sorter, Tensor values, bool isRight) {
  RankedTensorType keyType = keys.getType(), type = values.getType();
  if (keyType.getElementType() != type.getElementType())
    return args.fail(keysName, "must hold elements of the type of \"self\"");
  if (sorter && sorter.getType().getShape() != keyType.getShape())
    return args.fail("sorter", "must have the shape of \"" + keysName + "\"");
  bool isShared = keyType.getRank() == 1;
  if (!isShared &&
      (keyType.getRank() == 0 || type.getRank() == 0 ||
       keyType.getShape().drop_back() != type.getShape().drop_back()))
    return args.fail(keysName, "must have one dimension, or those of \"self\" "
                               "but for the last");
  if (b.getShape() != type.getShape())
    return args.fail("gives a tensor of the shape of \"self\"");
  int64_t numRows = 1;
  if (!isShared)
    for (int64_t size : keyType.getShape().drop_back())
      numRows *= size;
  int64_t width = 1;
  for (int64_t size : isShared ? type.getShape() : type.getShape().take_back())
    width *= size;
  SmallVector<int64_t> keyShape = {numRows, keyType.getShape().back()};
  SortedRows rows{reshape(b, keys, keyShape),
                  sorter ? reshape(b, sorter, keyShape) : Tensor(), isRight};
  Tensor found = search(b, rows, reshape(b, values, {numRows, width}));
  return b.finish(
      convertTensor(b, reshape(b, found, b.getShape()), b.getElement()));
}

static LogicalResult buildBucketize(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  Tensor boundaries = args.getTensor("boundaries");
  bool isRight = args.getBool("right", false);
  if (args.hasFailed() || failed(args.expectRank("boundaries", boundaries, 1)))
    return failure();
  return finishSearch(args, b, "boundaries", boundaries, /*sorter=*/{}, self,
                      isRight);
}

static LogicalResult buildSearchSorted(NodeArguments &args, NodeBuilder &b) {
  Tensor keys = args.getTensor("sorted_sequence");
  Tensor self = args.getTensor("self");
  Tensor sorter = args.getOptionalTensor("sorter");
  bool isRight = args.getBool("right", false);
  StringRef side = args.getString("side", isRight ? "right" : "left");
  if (args.hasFailed() ||
      (sorter && failed(args.expectIndices("sorter", sorter))))
    return failure();
  if (side != "left" && side != "right")
    return args.fail("side", "must be \"left\" or \"right\"");
  if (isRight && side == "left")
    return args.fail("side", "is \"left\", but \"right\" is true");
  return finishSearch(args, b, "sorted_sequence", keys, sorter, self,
                      side == "right");
}

/// Position i, `repeats[i]` times. Where the counts do not sum up to the size
/// of the result, all positions are one behind the last, which no index takes:
/// an error where they are used.
static LogicalResult buildRepeatInterleave(NodeArguments &args,
                                           NodeBuilder &b) {
  Tensor repeats = args.getTensor("repeats");
  if (args.hasFailed() || failed(args.expectRank("repeats", repeats, 1)) ||
      failed(args.expectIndices("repeats", repeats)))
    return failure();
  if (b.getShape().size() != 1)
    return args.fail("gives a tensor of one dimension");
  int64_t size = b.getShape()[0], count = repeats.getType().getDimSize(0);
  if (args.has("output_size") && args.getInt("output_size") != size)
    return args.fail("output_size", "is " + Twine(args.getInt("output_size")) +
                                        ", but the result has " + Twine(size) +
                                        " elements");
  Type index = b.getI64Type();
  if (count == 0 || size == 0)
    return size == 0
               ? b.finish(Value(fill(b, {0}, makeNumber(b.getElement(), 0.0))))
               : args.fail("repeats", "must hold a count");
  Tensor ends =
      scan(b, convertTensor(b, repeats, index), 0, makeNumber(index, 0.0),
           index, [](B &b, ValueRange v) { return add(b, v[0], v[1]); });
  Tensor total = slice(b, ends, 0, count - 1, 1);
  SortedRows rows{reshape(b, ends, {1, count}), {}, /*isRight=*/true};
  Tensor positions =
      pointwise(b, {size}, index, total, [&](B &b, ValueRange v) -> Value {
        Value place =
            arith::IndexCastOp::create(b, index, linalg::IndexOp::create(b, 0));
        Value found = arith::IndexCastOp::create(
            b, index, rows.countBefore(b, makeIndex(b, 0), place));
        Value isSum = compare(b, Relation::Eq, v[0],
                              makeConstant(b, index, double(size)));
        return arith::SelectOp::create(b, isSum, found,
                                       makeConstant(b, index, double(count)));
      });
  return b.finish(convertTensor(b, positions, b.getElement()));
}

void regather::nodes::addSearchBuilders(BuilderTable &table) {
  table.add(Operator::AtenBucketize, buildBucketize);
  table.add(Operator::AtenRepeatInterleave, buildRepeatInterleave);
  table.add(Operator::AtenSearchsorted, buildSearchSorted);
}
