//===- TensorCoreBackward.cpp - Gradients of attention by tensor cores ----===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The launches are those of AttentionBackwardKernels.cpp: rows of the gradient
// of Q with D first, columns of those of K and V second. If a warp has no
// registers for both of these, there is a launch for each.
//
// Tiles have two places in shared memory: while one is computed with, the next
// one is copied to the other.
//
//===----------------------------------------------------------------------===//

#include "TensorCoreAttention.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace regather;
using namespace regather::nvptx;

/// Vectors of a tile.
static constexpr int64_t kRowTile = 32;

namespace {
/// What the kernels have in common.
class BackwardKernel : protected TensorCoreAttention {
protected:
  using TensorCoreAttention::TensorCoreAttention;

  /// Tiles of two matrices that pass by together.
  struct Pair {
    HalfTile first, second;
  };

  Pair makePair(int64_t rows);
  /// All threads begin to copy `count` vectors of each.
  void copy(const Pair &pair, Value place, int64_t count,
            const HeadMatrix &first, const HeadMatrix &second, Value vector);
  /// Adds what tiles contribute from `begin` to `end`, a multiple of the size
  /// of a tile on; `addTile` is told the first vector and its place.
  SmallVector<Value>
  forEachTile(const Pair &pair, const HeadMatrix &first,
              const HeadMatrix &second, Value begin, Value end, ValueRange sums,
              function_ref<SmallVector<Value>(Value, Value, ValueRange)>);
};

/// Rows of the gradient of Q.
class QueryKernel : BackwardKernel {
public:
  static constexpr int64_t kFragments = 1;

  QueryKernel(const rg_attention_desc &desc, AttentionBlock &b)
      : BackwardKernel(desc, b, Owner::Rows, kFragments) {}
  LogicalResult build();

private:
  /// D of a row, in the lanes that have it.
  Value sumProducts(const HeadMatrices &head, Value row);
  void findRows(const HeadMatrices &head);
  Sums addTile(const HeadMatrices &head, Value column, Value place,
               const Sums &sums);

  Value firstRow;
  SmallVector<Value> minusLogs, products;
  Pair own, tiles;
};

/// Columns of the gradients of K, of V, or of both.
class KeyKernel : BackwardKernel {
public:
  static constexpr int64_t kFragments = 1;

  KeyKernel(const rg_attention_desc &desc, AttentionBlock &b, bool hasKeys,
            bool hasValues)
      : BackwardKernel(desc, b, Owner::Columns, kFragments), hasKeys(hasKeys),
        hasValues(hasValues) {}
  LogicalResult build();

private:
  SmallVector<Value> addHead(const HeadMatrices &head, ValueRange sums);
  SmallVector<Value> addTile(const HeadMatrices &head, Value row, Value place,
                             ValueRange sums);
  size_t countKeySums() const;

  bool hasKeys, hasValues;
  Value firstColumn;
  Pair own, tiles;
};
} // namespace

//===----------------------------------------------------------------------===//
// Both kernels
//===----------------------------------------------------------------------===//

BackwardKernel::Pair BackwardKernel::makePair(int64_t rows) {
  return {cores.makeTile(rows, desc.width),
          cores.makeTile(rows, desc.value_width)};
}

void BackwardKernel::copy(const Pair &pair, Value place, int64_t count,
                          const HeadMatrix &first, const HeadMatrix &second,
                          Value vector) {
  cores.copy(pair.first, place, count, getRows(first), vector, nullptr);
  cores.copy(pair.second, place, count, getRows(second), vector, nullptr);
  cores.commit();
}

SmallVector<Value> BackwardKernel::forEachTile(
    const Pair &pair, const HeadMatrix &first, const HeadMatrix &second,
    Value begin, Value end, ValueRange sums,
    function_ref<SmallVector<Value>(Value, Value, ValueRange)> addTile) {
  auto getPlace = [&](Value vector) {
    Value number = b.divide(vector, kRowTile).first;
    return b.mul(b.divide(number, 2).second, kRowTile);
  };
  copy(pair, getPlace(begin), kRowTile, first, second, begin);
  auto loop = scf::ForOp::create(b, begin, end, b.index(kRowTile), sums);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value vector = loop.getInductionVar(), next = b.add(vector, kRowTile);
  // The tile has arrived, and all warps are done with the one before.
  cores.wait(0);
  b.barrier();
  auto branch =
      scf::IfOp::create(b, b.isLess(next, end), /*withElseRegion=*/false);
  b.setInsertionPointToStart(branch.thenBlock());
  copy(pair, getPlace(next), kRowTile, first, second, next);
  b.setInsertionPointAfter(branch);
  scf::YieldOp::create(
      b, addTile(vector, getPlace(vector), loop.getRegionIterArgs()));
  return llvm::to_vector(ValueRange(loop.getResults()));
}

//===----------------------------------------------------------------------===//
// The gradient of Q
//===----------------------------------------------------------------------===//

Value QueryKernel::sumProducts(const HeadMatrices &head, Value row) {
  // Each of the four lanes that have a row takes pieces in turn.
  constexpr int64_t piece = 8, step = 4 * piece;
  Value sums = b.makeZeros(piece);
  Value first = b.mul(cores.column, piece / 2);
  for (int64_t i = 0; i < desc.value_width; i += step) {
    Value element = b.add(first, i), exists;
    if (i + step > desc.value_width) {
      exists = b.isLess(element, b.index(desc.value_width));
      element = b.min(element, b.index(desc.value_width - piece));
    }
    Value next = vector::FMAOp::create(
        b, b.loadWide(head.gradOutput, row, element, piece),
        b.loadWide(head.output, row, element, piece), sums);
    sums = exists ? b.select(exists, next, sums) : next;
  }
  Value sum = vector::ExtractOp::create(b, sums, 0);
  for (int64_t i = 1; i != piece; ++i)
    sum = b.add(sum, vector::ExtractOp::create(b, sums, i));
  return cores.sumRow(sum);
}

void QueryKernel::findRows(const HeadMatrices &head) {
  forEachOwn([&](int64_t, Value number) {
    Value row = b.add(firstRow, number);
    Value last = b.min(row, b.index(desc.rows - 1));
    minusLogs.push_back(
        getMinusShift(b.loadElement(*head.logs, last, b.index(0))));
    Value sum = products.emplace_back(sumProducts(head, last));
    Value isWriter = b.both(b.isLess(cores.column, b.index(1)),
                            b.isLess(row, b.index(desc.rows)));
    auto branch = scf::IfOp::create(b, isWriter, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    b.store(sum, b.getScratch(), b.add(head.firstSum, row));
  });
}

Sums QueryKernel::addTile(const HeadMatrices &head, Value column, Value place,
                          const Sums &sums) {
  Sums scores = multiply(own.first, tiles.first, place, kRowTile);
  mask(scores, head.getMask(), firstRow, column);
  Sums gradients = multiply(own.second, tiles.second, place, kRowTile);
  for (int64_t i = 0; i != countOwn(); ++i)
    for (auto [score, gradient] :
         llvm::zip_equal(getOwn(scores, i), getOwn(gradients, i)))
      for (auto [s, g] : llvm::zip_equal(score, gradient))
        *s = arith::MulFOp::create(b, weigh(*s, minusLogs[i]),
                                   arith::SubFOp::create(b, *g, products[i]));
  Sums next = sums;
  accumulate(next, scores, tiles.first, place);
  return next;
}

LogicalResult QueryKernel::build() {
  int64_t ownRows = getOwnPerBlock(fragments);
  auto [outer, tile] = b.divide(b.block, llvm::divideCeil(desc.rows, ownRows));
  auto [batch, number] = b.divide(outer, desc.heads);
  HeadMatrices head(desc, b, batch, number,
                    b.divide(number, desc.groups).first);
  firstRow = b.mul(tile, ownRows);
  own = makePair(ownRows);
  tiles = makePair(2 * kRowTile);
  copy(own, b.index(0), ownRows, head.query, head.gradOutput, firstRow);
  findRows(head);
  Value end = b.index(desc.columns);
  if (desc.causal)
    end = b.min(end, b.add(firstRow, ownRows));
  SmallVector<Value> results = forEachTile(
      tiles, head.key, head.value, b.index(0), end,
      flatten(makeSums(desc.width)),
      [&](Value column, Value place, ValueRange sums) {
        return flatten(addTile(head, column, place, unflatten(sums)));
      });
  Sums sums = unflatten(results);
  store(sums, head.gradQuery, firstRow,
        SmallVector<Value>(countOwn(), b.number(desc.scale)));
  return b.finish();
}

//===----------------------------------------------------------------------===//
// The gradients of K and V
//===----------------------------------------------------------------------===//

size_t KeyKernel::countKeySums() const {
  return hasKeys ? static_cast<size_t>(desc.width * fragments / 2) : 0;
}

SmallVector<Value> KeyKernel::addTile(const HeadMatrices &head, Value row,
                                      Value place, ValueRange sums) {
  // L and D of the rows that the lane has columns of scores for.
  auto forEachRow = [&](function_ref<void(Value)> visit) {
    for (int64_t n = 0; n != kRowTile; n += TensorCores::kColumns)
      for (int64_t e = 0; e != 2; ++e) {
        Value number = b.add(b.add(row, cores.column), n + e);
        if (desc.rows % kRowTile != 0)
          number = b.min(number, b.index(desc.rows - 1));
        visit(number);
      }
  };
  SmallVector<Value> minusLogs, products;
  forEachRow([&](Value number) {
    minusLogs.push_back(
        getMinusShift(b.loadElement(*head.logs, number, b.index(0))));
  });
  Sums weights = multiply(own.first, tiles.first, place, kRowTile);
  mask(weights, head.getMask(), firstColumn, row);
  for (int64_t i = 0; i != countOwn(); ++i)
    for (auto [n, pair] : llvm::enumerate(getOwn(weights, i)))
      for (auto [e, score] : llvm::enumerate(pair))
        *score = weigh(*score, minusLogs[2 * n + e]);
  Sums keySums = unflatten(sums.take_front(countKeySums()));
  Sums valueSums = unflatten(sums.drop_front(countKeySums()));
  if (hasValues)
    accumulate(valueSums, weights, tiles.second, place);
  if (hasKeys) {
    forEachRow([&](Value number) {
      products.push_back(b.load(b.getScratch(), b.add(head.firstSum, number)));
    });
    Sums gradients = multiply(own.second, tiles.second, place, kRowTile);
    for (int64_t i = 0; i != countOwn(); ++i)
      for (auto [n, pair] : llvm::enumerate(getOwn(gradients, i)))
        for (auto [e, gradient] : llvm::enumerate(pair))
          *gradient = arith::MulFOp::create(
              b, *getOwn(weights, i)[n][e],
              arith::SubFOp::create(b, *gradient, products[2 * n + e]));
    accumulate(keySums, gradients, tiles.first, place);
  }
  keySums.append(valueSums);
  return flatten(keySums);
}

SmallVector<Value> KeyKernel::addHead(const HeadMatrices &head,
                                      ValueRange sums) {
  // Tiles begin at multiples of their size. Columns that no row sees take the
  // last one.
  Value begin = b.index(0);
  if (desc.causal)
    begin = b.min(b.mul(b.divide(firstColumn, kRowTile).first, kRowTile),
                  b.index((desc.rows - 1) / kRowTile * kRowTile));
  // All warps are done with the tiles of the head before.
  b.barrier();
  return forEachTile(tiles, head.query, head.gradOutput, begin,
                     b.index(desc.rows), sums,
                     [&](Value row, Value place, ValueRange inner) {
                       return addTile(head, row, place, inner);
                     });
}

LogicalResult KeyKernel::build() {
  int64_t ownColumns = getOwnPerBlock(fragments);
  auto [outer, tile] =
      b.divide(b.block, llvm::divideCeil(desc.columns, ownColumns));
  auto [batch, keyHead] = b.divide(outer, desc.heads / desc.groups);
  firstColumn = b.mul(tile, ownColumns);
  Value firstHead = b.mul(keyHead, desc.groups);
  HeadMatrices first(desc, b, batch, firstHead, keyHead);
  own = makePair(ownColumns);
  tiles = makePair(2 * kRowTile);
  copy(own, b.index(0), ownColumns, first.key, first.value, firstColumn);
  SmallVector<Value> sums;
  if (hasKeys)
    llvm::append_range(sums, flatten(makeSums(desc.width)));
  if (hasValues)
    llvm::append_range(sums, flatten(makeSums(desc.value_width)));
  auto loop =
      scf::ForOp::create(b, b.index(0), b.index(desc.groups), b.index(1), sums);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    HeadMatrices head(desc, b, batch, b.add(firstHead, loop.getInductionVar()),
                      keyHead);
    scf::YieldOp::create(b, addHead(head, loop.getRegionIterArgs()));
  }
  ValueRange results = loop.getResults();
  Sums keySums = unflatten(results.take_front(countKeySums()));
  Sums valueSums = unflatten(results.drop_front(countKeySums()));
  if (hasKeys)
    store(keySums, first.gradKey, firstColumn,
          SmallVector<Value>(countOwn(), b.number(desc.scale)));
  if (hasValues)
    store(valueSums, first.gradValue, firstColumn,
          SmallVector<Value>(countOwn(), b.number(1)));
  return b.finish();
}

LogicalResult nvptx::buildTensorCoreBackward(const rg_attention_desc &desc,
                                             gpu::GPUModuleOp module,
                                             StringRef name) {
  int64_t heads = desc.batch * desc.heads;
  int64_t scratchBytes =
      heads * desc.rows * static_cast<int64_t>(sizeof(float));
  auto countTiles = [](int64_t vectors, int64_t fragments) {
    return static_cast<int64_t>(llvm::divideCeil(
        vectors, TensorCoreAttention::getOwnPerBlock(fragments)));
  };
  AttentionBlock queryBlock(
      desc, module, name,
      heads * countTiles(desc.rows, QueryKernel::kFragments), scratchBytes);
  if (failed(QueryKernel(desc, queryBlock).build()))
    return failure();
  auto buildKeys = [&](StringRef suffix, bool hasKeys, bool hasValues) {
    AttentionBlock block(desc, module, (name + suffix).str(),
                         heads / desc.groups *
                             countTiles(desc.columns, KeyKernel::kFragments),
                         scratchBytes);
    return KeyKernel(desc, block, hasKeys, hasValues).build();
  };
  // A lane has as many sums as half of the elements.
  constexpr int64_t mostElements = 256;
  if (desc.width + desc.value_width <= mostElements)
    return buildKeys("_keys", /*hasKeys=*/true, /*hasValues=*/true);
  if (failed(buildKeys("_keys", /*hasKeys=*/true, /*hasValues=*/false)))
    return failure();
  return buildKeys("_values", /*hasKeys=*/false, /*hasValues=*/true);
}
