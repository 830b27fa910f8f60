//===- Sorting.cpp - Expansions that order elements -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sorting computes the order, a tensor of positions, by merging runs of growing
// width. Each place of a merged run finds by bisection how many elements of the
// left run come before it, so all places are independent of each other:
//
//   order = 0, 1, 2, ...
//   for width = 1, 2, 4, ... below the size
//     for each place p, d places into its pair of runs L and R
//       a = the most elements of L that can be among the first d:
//           R[d - a] does not come before L[a - 1]
//       order[p] = L[a] unless R[d - a] comes before it
//
// Equal elements stay in their order. A NaN is larger than any number.
//
//===----------------------------------------------------------------------===//

#include "NodeBuilder.h"
#include "StructuredOps.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace regather::nodes;

/// Whether `lhs` has to stand before `rhs`.
static Value comesBefore(B &b, Value lhs, Value rhs, bool isDescending) {
  if (isDescending)
    std::swap(lhs, rhs);
  Value isLess = compare(b, Relation::Lt, lhs, rhs);
  if (!isa<FloatType>(lhs.getType()))
    return isLess;
  Value isNumber = compare(b, Relation::Eq, lhs, lhs);
  Value isNaN = compare(b, Relation::Ne, rhs, rhs);
  return add(b, isLess, mul(b, isNumber, isNaN));
}

namespace {
/// Rows of keys, and the order of each as far as it is sorted.
struct Rows {
  Tensor keys, order;
  bool isDescending;

  int64_t getCount() const { return keys.getType().getDimSize(0); }
  int64_t getSize() const { return keys.getType().getDimSize(1); }
};

/// Where a place lies in its pair of runs. All values are of type index.
struct Place {
  Place(B &b, const Rows &rows, Value width);

  /// The position of the element at `place`, and its key. A place that is not
  /// in the row reads another.
  Value getPosition(B &b, Value place) const;
  Value getKey(B &b, Value place) const;
  /// Whether the element number `right` of the right run comes before number
  /// `left` of the left run, both of which may lie behind the end.
  Value isRightFirst(B &b, Value left, Value right) const;

  const Rows &rows;
  Value row, start, middle, distance, leftSize, rightSize;
};
} // namespace

Place::Place(B &b, const Rows &rows, Value width) : rows(rows) {
  Value size = makeIndex(b, rows.getSize());
  row = linalg::IndexOp::create(b, 0);
  Value place = linalg::IndexOp::create(b, 1);
  Value both = arith::AddIOp::create(b, width, width);
  distance = arith::RemUIOp::create(b, place, both);
  start = arith::SubIOp::create(b, place, distance);
  middle =
      arith::MinUIOp::create(b, arith::AddIOp::create(b, start, width), size);
  Value end =
      arith::MinUIOp::create(b, arith::AddIOp::create(b, start, both), size);
  leftSize = arith::SubIOp::create(b, middle, start);
  rightSize = arith::SubIOp::create(b, end, middle);
}

Value Place::getPosition(B &b, Value place) const {
  Value last = makeIndex(b, rows.getSize() - 1);
  // Unsigned: a negative place is a large one.
  place = arith::MinUIOp::create(b, place, last);
  return tensor::ExtractOp::create(b, rows.order, ValueRange{row, place});
}

Value Place::getKey(B &b, Value place) const {
  Value position =
      arith::IndexCastOp::create(b, b.getIndexType(), getPosition(b, place));
  return tensor::ExtractOp::create(b, rows.keys, ValueRange{row, position});
}

Value Place::isRightFirst(B &b, Value left, Value right) const {
  Value hasRight =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, right, rightSize);
  Value leftKey = getKey(b, arith::AddIOp::create(b, start, left));
  Value rightKey = getKey(b, arith::AddIOp::create(b, middle, right));
  return arith::AndIOp::create(
      b, hasRight, comesBefore(b, rightKey, leftKey, rows.isDescending));
}

/// One step of the bisection: whether `step` more elements of the left run are
/// among the first.
static Value takeStep(B &b, const Rows &rows, Value width, Value step,
                      Value taken) {
  Place place(b, rows, width);
  Value more = arith::AddIOp::create(b, taken, step);
  Value limit = arith::MinUIOp::create(b, place.distance, place.leftSize);
  Value fits = arith::CmpIOp::create(b, arith::CmpIPredicate::ule, more, limit);
  Value isRightFirst =
      place.isRightFirst(b, arith::SubIOp::create(b, more, makeIndex(b, 1)),
                         arith::SubIOp::create(b, place.distance, more));
  Value isOff = arith::XOrIOp::create(b, isRightFirst,
                                      makeConstant(b, b.getI1Type(), 1.0));
  return arith::SelectOp::create(b, arith::AndIOp::create(b, fits, isOff), more,
                                 taken);
}

/// The position of the element that comes to a place, of which `taken` elements
/// of the left run are before.
static Value pick(B &b, const Rows &rows, Value width, Value taken) {
  Place place(b, rows, width);
  Value right = arith::SubIOp::create(b, place.distance, taken);
  Value hasLeft = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, taken,
                                        place.leftSize);
  Value isRightFirst = place.isRightFirst(b, taken, right);
  Value isLeft = arith::AndIOp::create(
      b, hasLeft,
      arith::XOrIOp::create(b, isRightFirst,
                            makeConstant(b, b.getI1Type(), 1.0)));
  return arith::SelectOp::create(
      b, isLeft,
      place.getPosition(b, arith::AddIOp::create(b, place.start, taken)),
      place.getPosition(b, arith::AddIOp::create(b, place.middle, right)));
}

/// Doubles the width of the sorted runs.
static Tensor mergeRuns(B &b, const Rows &rows, Value width, unsigned depth) {
  SmallVector<int64_t> shape = {rows.getCount(), rows.getSize()};
  Type index = b.getI64Type();
  auto toIndex = [](B &b, Value value) -> Value {
    return arith::IndexCastOp::create(b, b.getIndexType(), value);
  };
  Value none = fill(b, shape, makeNumber(index, 0.0));
  auto search = scf::ForOp::create(
      b, makeIndex(b, 0), makeIndex(b, depth), makeIndex(b, 1),
      ValueRange(none),
      [&](OpBuilder &builder, Location loc, Value i, ValueRange carried) {
        B b(loc, builder);
        Value exponent = arith::SubIOp::create(b, makeIndex(b, depth - 1), i);
        Value step = arith::ShLIOp::create(b, makeIndex(b, 1), exponent);
        Tensor taken =
            pointwise(b, shape, index, cast<Tensor>(carried[0]),
                      [&](B &b, ValueRange v) -> Value {
                        Value more =
                            takeStep(b, rows, width, step, toIndex(b, v[0]));
                        return arith::IndexCastOp::create(b, index, more);
                      });
        scf::YieldOp::create(b, ValueRange(taken));
      });
  return pointwise(b, shape, index, cast<Tensor>(search.getResult(0)),
                   [&](B &b, ValueRange v) {
                     return pick(b, rows, width, toIndex(b, v[0]));
                   });
}

/// The positions of the elements of each row in sorted order.
static Tensor makeOrder(B &b, Tensor keys, bool isDescending) {
  ArrayRef<int64_t> shape = keys.getType().getShape();
  Tensor order =
      pointwise(b, shape, b.getI64Type(), {}, [](B &b, ValueRange) -> Value {
        return arith::IndexCastOp::create(b, b.getI64Type(),
                                          linalg::IndexOp::create(b, 1));
      });
  if (shape[1] < 2)
    return order;
  unsigned depth = llvm::Log2_64_Ceil(shape[1]);
  auto rounds = scf::ForOp::create(
      b, makeIndex(b, 0), makeIndex(b, depth), makeIndex(b, 1),
      ValueRange(order),
      [&](OpBuilder &builder, Location loc, Value i, ValueRange carried) {
        B b(loc, builder);
        Value width = arith::ShLIOp::create(b, makeIndex(b, 1), i);
        Rows rows{keys, cast<Tensor>(carried[0]), isDescending};
        Tensor merged = mergeRuns(b, rows, width, depth);
        scf::YieldOp::create(b, ValueRange(merged));
      });
  return cast<Tensor>(rounds.getResult(0));
}

/// The first `count` elements along `dim` in sorted order, and their positions.
static LogicalResult finishSorted(NodeBuilder &b, Tensor self, int64_t dim,
                                  int64_t count, bool isDescending) {
  if (self.getType().getRank() == 0)
    self = reshape(b, self, {1});
  int64_t rank = self.getType().getRank();
  // The dimension comes last; as two dimensions, these are the rows.
  auto swap = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(swap[dim], swap.back());
  Tensor keys = transpose(b, self, swap);
  SmallVector<int64_t> shape(keys.getType().getShape());
  int64_t size = shape.back(), numRows = 1;
  for (int64_t other : ArrayRef(shape).drop_back())
    numRows *= other;
  keys = reshape(b, keys, {numRows, size});
  Tensor order = makeOrder(b, keys, isDescending);
  order = slice(b, order, 1, 0, count);
  Tensor values =
      pointwise(b, {numRows, count}, keys.getType().getElementType(), order,
                [&](B &b, ValueRange v) -> Value {
                  Value position[] = {
                      linalg::IndexOp::create(b, 0),
                      arith::IndexCastOp::create(b, b.getIndexType(), v[0])};
                  return tensor::ExtractOp::create(b, keys, position);
                });
  shape.back() = count;
  auto give = [&](Tensor tensor) -> Value {
    return reshape(b, transpose(b, reshape(b, tensor, shape), swap),
                   b.getShape());
  };
  return b.finish({give(values), give(order)});
}

/// Fails unless the results have the shape of `self` with `count` elements
/// along `dim`.
static LogicalResult checkShape(NodeArguments &args, NodeBuilder &b,
                                Tensor self, int64_t dim, int64_t count) {
  SmallVector<int64_t> shape(self.getType().getShape());
  if (!shape.empty())
    shape[dim] = count;
  if (b.getShape(0) == ArrayRef(shape) && b.getShape(1) == ArrayRef(shape))
    return success();
  return args.fail("gives " + Twine(count) + " elements along dimension " +
                   Twine(dim) + " of \"self\", and all of the others");
}

namespace {
/// The dimension along which to sort; a scalar counts as having one.
struct SortedDim {
  Tensor self;
  int64_t dim;
  int64_t size;
};
} // namespace

/// Fails, too, if an argument that was read before does not fit.
static FailureOr<SortedDim> readSortedDim(NodeArguments &args) {
  Tensor self = args.getTensor("self");
  if (args.hasFailed())
    return failure();
  int64_t rank = self.getType().getRank();
  int64_t dim = args.getDim("dim", rank, -1);
  if (args.hasFailed())
    return failure();
  return SortedDim{self, dim, rank == 0 ? 1 : self.getType().getDimSize(dim)};
}

static LogicalResult buildSort(NodeArguments &args, NodeBuilder &b) {
  bool isDescending = args.getBool("descending", false);
  FailureOr<SortedDim> sorted = readSortedDim(args);
  if (failed(sorted))
    return failure();
  auto &[self, dim, size] = *sorted;
  if (failed(checkShape(args, b, self, dim, size)))
    return failure();
  return finishSorted(b, self, dim, size, isDescending);
}

/// The result is sorted whether or not that is asked for; of equal elements,
/// the first come first.
static LogicalResult buildTopK(NodeArguments &args, NodeBuilder &b) {
  int64_t count = args.getInt("k");
  bool isLargest = args.getBool("largest", true);
  FailureOr<SortedDim> sorted = readSortedDim(args);
  if (failed(sorted))
    return failure();
  auto &[self, dim, size] = *sorted;
  if (count < 0 || count > size)
    return args.fail("k", "is " + Twine(count) + " in a dimension of size " +
                              Twine(size));
  if (failed(checkShape(args, b, self, dim, count)))
    return failure();
  return finishSorted(b, self, dim, count, isLargest);
}

void regather::nodes::addSortingBuilders(BuilderTable &table) {
  table.add(Operator::AtenSort, buildSort);
  table.add(Operator::AtenTopk, buildTopK);
}
