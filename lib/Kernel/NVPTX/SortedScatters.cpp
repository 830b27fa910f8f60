//===- SortedScatters.cpp - Scatters as sums of sorted rows ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   for i: result[rows[i], :] = combine(result[rows[i], :], values[i, :])
//
// becomes
//
//   keys[i] = rows[i] << 32 | i
//   sorted = keys in ascending order
//   begin[r], end[r] = the keys of row r in `sorted`
//   result[r, :] = into[r, :], combined with values[i, :] for those keys' i
//
// The keys of a row are in the order of the scatter, so the result has the bits
// of the loop; but each row is written once, by whatever block has it, and its
// sum is never in memory. No two keys are equal, so any way to sort them gives
// the same order:
//
//   runs of 64 keys: the place of a key is the number of smaller ones
//   merged runs, as long as there are two: place p finds by bisection how many
//     keys of the left run are among the first p of both
//
// Sorting takes N log^2 N steps, however the rows are distributed; a row that
// everything is added to is one long sum, shared by the threads of its columns.
//
//===----------------------------------------------------------------------===//

#include "SortedScatters.h"

#include "regather/Kernel/Transforms/ElementInlining.h"
#include "regather/Kernel/Transforms/ScatterLoop.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace regather;
using kernel::Scatter;
using utils::IteratorType;

/// Scatters of at least so many rows are sorted.
static constexpr int64_t kMinSortedRows = 32;

/// Keys of a run that is sorted by counting.
static constexpr int64_t kRunSize = 64;

/// How many values of a row are read at once. Only rows to which much is added
/// have so many.
static constexpr int64_t kUnrolled = 8;

/// Bits of a position in a key, which are its lower ones.
static constexpr unsigned kPositionBits = 32;

/// Numbers of rows and positions are below this.
static constexpr int64_t kLimit = std::numeric_limits<int32_t>::max();

//===----------------------------------------------------------------------===//
// Scatters
//===----------------------------------------------------------------------===//

static SmallVector<Scatter> findLongScatters(tg::KernelOp kernel) {
  SmallVector<Scatter> found;
  for (auto loop : kernel.getBody().front().getOps<scf::ForOp>()) {
    std::optional<Scatter> scatter = kernel::matchScatter(loop);
    if (scatter && scatter->getCount() >= kMinSortedRows &&
        scatter->getCount() < kLimit && scatter->getExtent() < kLimit &&
        scatter->type.getNumElements() != 0)
      found.push_back(*scatter);
  }
  return found;
}

bool nvptx::hasLongScatters(tg::KernelOp kernel) {
  return !findLongScatters(kernel).empty();
}

//===----------------------------------------------------------------------===//
// Rewrite
//===----------------------------------------------------------------------===//

namespace {
class ScatterSorter {
public:
  explicit ScatterSorter(Scatter scatter)
      : scatter(scatter), b(scatter.loop.getLoc(), scatter.loop),
        count(scatter.getCount()), extent(scatter.getExtent()),
        numRuns(llvm::divideCeil(count, kRunSize)) {}

  void sort();

private:
  using BodyFn = function_ref<SmallVector<Value>(ValueRange)>;

  /// A tensor for each of `elements`, over parallel loops of these sizes; with
  /// `isSum`, another loop adds to what starts from 0.
  linalg::GenericOp emitLoops(ArrayRef<int64_t> sizes, ArrayRef<Type> elements,
                              ValueRange operands, ArrayRef<AffineMap> maps,
                              BodyFn body, bool isSum = false);

  Value emitNumbers();
  Value emitKeys(Value numbers);
  Value emitSortedRuns(Value keys);
  Value emitMergedRuns(Value keys, Value places, int64_t width);
  /// How many of `keys` are below `bound`.
  Value emitLowerBound(Value keys, Value bound);
  Value emitRows(Value keys, ValueRange bounds);
  Value emitSegment(Value keys, Value begin, Value end, Value start,
                    int64_t number);

  int64_t getNumKeys() const { return numRuns * kRunSize; }
  Value takeFirst(Value tensor, int64_t size);
  /// A step of a bisection below `size`: `body` says whether `more` is small
  /// enough. Gives the largest number that is.
  Value emitBisection(int64_t size,
                      function_ref<Value(Value more)> isSmallEnough);
  Value emitExtract(Value tensor, ValueRange place) {
    return tensor::ExtractOp::create(b, tensor, place);
  }
  Value makeIndex(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value makeKey(int64_t value) {
    return arith::ConstantIntOp::create(b, b.getI64Type(), value);
  }
  Value toIndex(Value value) {
    return arith::IndexCastOp::create(b, b.getIndexType(), value);
  }
  Value isBelow(Value lhs, Value rhs) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, lhs, rhs);
  }
  AffineMap getMap(unsigned loops, ArrayRef<unsigned> dims) {
    return AffineMap::getMultiDimMapWithTargets(loops, dims, b.getContext());
  }

  Scatter scatter;
  ImplicitLocOpBuilder b;
  int64_t count, extent, numRuns;
};
} // namespace

linalg::GenericOp ScatterSorter::emitLoops(ArrayRef<int64_t> sizes,
                                           ArrayRef<Type> elements,
                                           ValueRange operands,
                                           ArrayRef<AffineMap> maps,
                                           BodyFn body, bool isSum) {
  auto loops = static_cast<unsigned>(sizes.size());
  SmallVector<IteratorType> types(loops, IteratorType::parallel);
  if (isSum) {
    types.push_back(IteratorType::reduction);
    ++loops;
  }
  SmallVector<AffineMap> all(maps);
  SmallVector<Value> inits;
  SmallVector<Type> results;
  auto dims = llvm::to_vector(llvm::seq<unsigned>(0, sizes.size()));
  for (Type element : elements) {
    Value init = tensor::EmptyOp::create(b, sizes, element);
    if (isSum)
      init = linalg::FillOp::create(
                 b, Value(arith::ConstantOp::create(b, b.getZeroAttr(element))),
                 init)
                 .getResult(0);
    inits.push_back(init);
    results.push_back(init.getType());
    all.push_back(getMap(loops, dims));
  }
  return linalg::GenericOp::create(
      b, results, operands, inits, all, types,
      [&](OpBuilder &inner, Location, ValueRange arguments) {
        OpBuilder::InsertionGuard guard(b);
        b.restoreInsertionPoint(inner.saveInsertionPoint());
        linalg::YieldOp::create(b, body(arguments));
      });
}

Value ScatterSorter::takeFirst(Value tensor, int64_t size) {
  if (cast<RankedTensorType>(tensor.getType()).getDimSize(0) == size)
    return tensor;
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  return tensor::ExtractSliceOp::create(
      b, tensor, ArrayRef{zero}, ArrayRef<OpFoldResult>{b.getIndexAttr(size)},
      ArrayRef{one});
}

/// 0, 1, 2, ...: operations read their own place here, since blocks of them do
/// not know where they lie.
Value ScatterSorter::emitNumbers() {
  int64_t size = std::max(getNumKeys(), extent);
  return emitLoops({size}, b.getI32Type(), {}, {},
                   [&](ValueRange) -> SmallVector<Value> {
                     return {arith::IndexCastOp::create(
                         b, b.getI32Type(), linalg::IndexOp::create(b, 0))};
                   })
      .getResult(0);
}

/// The keys in runs. What fills up the last one is larger than any key, and not
/// equal either.
Value ScatterSorter::emitKeys(Value numbers) {
  Value rowNumbers = takeFirst(numbers, extent);
  Value places = tensor::ExpandShapeOp::create(
      b, RankedTensorType::get({numRuns, kRunSize}, b.getI32Type()),
      takeFirst(numbers, getNumKeys()),
      SmallVector<ReassociationIndices>{{0, 1}});
  return emitLoops(
             {numRuns, kRunSize}, b.getI64Type(), places, getMap(2, {0, 1}),
             [&](ValueRange v) -> SmallVector<Value> {
               Value place = toIndex(v[0]);
               Value last = makeIndex(count - 1);
               Value taken = arith::MinUIOp::create(b, place, last);
               Value row = toIndex(emitExtract(scatter.indices, taken));
               // The number of the row is read from a list of rows, which
               // checks that there is such a row.
               row = emitExtract(rowNumbers, row);
               Value isKey = isBelow(place, makeIndex(count));
               Value none =
                   arith::ConstantIntOp::create(b, b.getI32Type(), kLimit);
               row = arith::SelectOp::create(b, isKey, row, none);
               Value key = arith::ShLIOp::create(
                   b, arith::ExtUIOp::create(b, b.getI64Type(), row),
                   makeKey(kPositionBits));
               return {arith::OrIOp::create(
                   b, key, arith::ExtUIOp::create(b, b.getI64Type(), v[0]))};
             })
      .getResult(0);
}

/// Sorts the keys of each run: a key comes behind as many as are smaller.
Value ScatterSorter::emitSortedRuns(Value keys) {
  SmallVector<int64_t> sizes = {numRuns, kRunSize};
  Type number = b.getI32Type();
  auto addIf = [&](Value condition, Value sum, Value value) {
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(value.getType()));
    Value term = arith::SelectOp::create(b, condition, value, zero);
    return SmallVector<Value>{arith::AddIOp::create(b, sum, term)};
  };
  Value places =
      emitLoops(
          sizes, number, {keys, keys}, {getMap(3, {0, 1}), getMap(3, {0, 2})},
          [&](ValueRange v) {
            Value one =
                arith::ConstantOp::create(b, b.getIntegerAttr(number, 1));
            return addIf(isBelow(v[1], v[0]), v[2], one);
          },
          /*isSum=*/true)
          .getResult(0);
  return emitLoops(
             sizes, b.getI64Type(), {places, keys},
             {getMap(3, {0, 2}), getMap(3, {0, 2})},
             [&](ValueRange v) {
               Value place = arith::IndexCastOp::create(
                   b, number, linalg::IndexOp::create(b, 1));
               Value isHere = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                                    v[0], place);
               return addIf(isHere, v[2], v[1]);
             },
             /*isSum=*/true)
      .getResult(0);
}

Value ScatterSorter::emitBisection(
    int64_t size, function_ref<Value(Value more)> isSmallEnough) {
  int64_t depth = llvm::Log2_64(static_cast<uint64_t>(size)) + 1;
  auto loop = scf::ForOp::create(b, makeIndex(0), makeIndex(depth),
                                 makeIndex(1), makeIndex(0));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value step = arith::ShRUIOp::create(b, makeIndex(int64_t(1) << (depth - 1)),
                                      loop.getInductionVar());
  Value taken = loop.getRegionIterArg(0);
  Value more = arith::AddIOp::create(b, taken, step);
  Value next = arith::SelectOp::create(b, isSmallEnough(more), more, taken);
  scf::YieldOp::create(b, next);
  return loop.getResult(0);
}

/// Sorts pairs of runs of `width` keys.
Value ScatterSorter::emitMergedRuns(Value keys, Value places, int64_t width) {
  int64_t size = getNumKeys();
  auto body = [&](ValueRange v) -> SmallVector<Value> {
    Value place = toIndex(v[0]), last = makeIndex(size - 1);
    Value distance = arith::RemUIOp::create(b, place, makeIndex(2 * width));
    Value begin = arith::SubIOp::create(b, place, distance);
    Value left = arith::MinUIOp::create(
        b, makeIndex(width), arith::SubIOp::create(b, makeIndex(size), begin));
    Value middle = arith::AddIOp::create(b, begin, left);
    Value right = arith::MinUIOp::create(
        b, makeIndex(width), arith::SubIOp::create(b, makeIndex(size), middle));
    // A place beyond the end of a run reads another one.
    auto getKey = [&](Value run, Value number) {
      Value at = arith::AddIOp::create(b, run, number);
      return emitExtract(keys, Value(arith::MinUIOp::create(b, at, last)));
    };
    // The key of the right run with this number exists and comes first.
    auto isRightFirst = [&](Value leftNumber, Value rightNumber) -> Value {
      return arith::AndIOp::create(
          b, isBelow(rightNumber, right),
          isBelow(getKey(middle, rightNumber), getKey(begin, leftNumber)));
    };
    Value taken = emitBisection(width, [&](Value more) -> Value {
      Value fits =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ule, more,
                                arith::MinUIOp::create(b, distance, left));
      Value isOff = isRightFirst(arith::SubIOp::create(b, more, makeIndex(1)),
                                 arith::SubIOp::create(b, distance, more));
      Value no = arith::ConstantOp::create(b, b.getBoolAttr(false));
      return arith::SelectOp::create(b, isOff, no, fits);
    });
    Value other = arith::SubIOp::create(b, distance, taken);
    Value no = arith::ConstantOp::create(b, b.getBoolAttr(false));
    Value isLeft = arith::SelectOp::create(b, isRightFirst(taken, other), no,
                                           isBelow(taken, left));
    return {arith::SelectOp::create(b, isLeft, getKey(begin, taken),
                                    getKey(middle, other))};
  };
  return emitLoops({size}, b.getI64Type(), places, getMap(1, {0}), body)
      .getResult(0);
}

Value ScatterSorter::emitLowerBound(Value keys, Value bound) {
  Value size = makeIndex(getNumKeys());
  return emitBisection(getNumKeys(), [&](Value more) -> Value {
    // Nothing reads what lies behind the end.
    Value fits =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ule, more, size);
    Value at = arith::SubIOp::create(b, arith::MinUIOp::create(b, more, size),
                                     makeIndex(1));
    return arith::AndIOp::create(b, fits,
                                 isBelow(emitExtract(keys, at), bound));
  });
}

/// Combines `start`, an element of a row, with those of the values that the
/// keys from `begin` to `end` stand for, `number` at a time.
Value ScatterSorter::emitSegment(Value keys, Value begin, Value end,
                                 Value start, int64_t number) {
  Value column = linalg::IndexOp::create(b, 1);
  auto loop = scf::ForOp::create(b, begin, end, makeIndex(number), start);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  // All loads are issued before the first value is needed.
  SmallVector<Value> positions, values;
  for (int64_t i = 0; i != number; ++i) {
    Value at = loop.getInductionVar();
    if (i != 0)
      at = arith::AddIOp::create(b, at, makeIndex(i));
    positions.push_back(toIndex(arith::AndIOp::create(
        b, emitExtract(keys, at), makeKey((int64_t(1) << kPositionBits) - 1))));
  }
  for (Value position : positions)
    values.push_back(emitExtract(scatter.values, ValueRange{position, column}));
  Value result = loop.getRegionIterArg(0);
  for (Value value : values)
    result = kernel::combineElement(b, scatter, result, value);
  scf::YieldOp::create(b, result);
  return loop.getResult(0);
}

Value ScatterSorter::emitRows(Value keys, ValueRange bounds) {
  Value into = scatter.loop.getInitArgs()[0];
  AffineMap row = getMap(2, {0}), all = getMap(2, {0, 1});
  SmallVector<AffineMap> maps = {row, row, all};
  if (auto fill = into.getDefiningOp<linalg::FillOp>()) {
    into = fill.value();
    maps.back() = getMap(2, {});
  }
  auto body = [&](ValueRange v) -> SmallVector<Value> {
    Value begin = toIndex(v[0]), end = toIndex(v[1]), result = v[2];
    Value size = arith::SubIOp::create(b, end, begin);
    // If values replace each other, only the last one counts.
    if (!scatter.combine) {
      Value last = arith::MinSIOp::create(b, size, makeIndex(1));
      begin = arith::SubIOp::create(b, end, last);
      return {emitSegment(keys, begin, end, result, 1)};
    }
    Value rest = arith::RemUIOp::create(b, size, makeIndex(kUnrolled));
    Value middle = arith::SubIOp::create(b, end, rest);
    result = emitSegment(keys, begin, middle, result, kUnrolled);
    return {emitSegment(keys, middle, end, result, 1)};
  };
  linalg::GenericOp rows =
      emitLoops({extent, scatter.getWidth()}, scatter.type.getElementType(),
                {bounds[0], bounds[1], into}, maps, body);
  return rows.getResult(0);
}

void ScatterSorter::sort() {
  Value numbers = emitNumbers();
  Value runs = emitSortedRuns(emitKeys(numbers));
  Value keys = tensor::CollapseShapeOp::create(
      b, runs, SmallVector<ReassociationIndices>{{0, 1}});
  Value places = takeFirst(numbers, getNumKeys());
  for (int64_t width = kRunSize; width < getNumKeys(); width *= 2)
    keys = emitMergedRuns(keys, places, width);
  Type number = b.getI32Type();
  linalg::GenericOp bounds =
      emitLoops({extent}, {number, number}, takeFirst(numbers, extent),
                getMap(1, {0}), [&](ValueRange v) {
                  SmallVector<Value> found;
                  Value row = arith::ExtUIOp::create(b, b.getI64Type(), v[0]);
                  for (int64_t next : {0, 1}) {
                    Value bound = arith::AddIOp::create(b, row, makeKey(next));
                    bound =
                        arith::ShLIOp::create(b, bound, makeKey(kPositionBits));
                    found.push_back(arith::IndexCastOp::create(
                        b, number, emitLowerBound(keys, bound)));
                  }
                  return found;
                });
  bounds->setAttr(nvptx::kBoundsAttrName, b.getUnitAttr());
  Value rows = emitRows(keys, bounds.getResults());
  scatter.loop.getResult(0).replaceAllUsesWith(rows);
  scatter.loop.erase();
  kernel::inlineElements(rows.getDefiningOp());
}

unsigned nvptx::sortScatters(tg::KernelOp kernel) {
  SmallVector<Scatter> scatters = findLongScatters(kernel);
  for (Scatter &scatter : scatters)
    ScatterSorter(scatter).sort();
  return scatters.size();
}
