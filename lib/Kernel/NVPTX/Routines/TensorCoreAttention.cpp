//===- TensorCoreAttention.cpp - Attention by tensor cores ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorCoreAttention.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cmath>

using namespace mlir;
using namespace regather;
using namespace regather::nvptx;

static constexpr float kLog2E = 1.44269504F;

bool nvptx::fitsTensorCores(const rg_attention_desc &desc) {
  // Sums of wider heads do not fit into registers, and widths are multiples of
  // 16.
  constexpr int64_t most = 256;
  for (int64_t width : {desc.width, desc.value_width})
    if (width % TensorCores::kDepth != 0 || width > most)
      return false;
  SmallVector<const rg_attention_operand *> operands = {&desc.q, &desc.k,
                                                        &desc.v, &desc.o};
  if (desc.backward)
    operands.append({&desc.grad_o, &desc.grad_q, &desc.grad_k, &desc.grad_v});
  // Rows are copied in pieces of 16 bytes.
  return llvm::all_of(operands, [&](const rg_attention_operand *operand) {
    auto isAligned = [](int64_t elements) { return elements % 8 == 0; };
    return isTensorCoreType(operand->dtype) && operand->dtype == desc.q.dtype &&
           isAligned(operand->offset) &&
           llvm::all_of(ArrayRef(operand->strides).drop_back(), isAligned) &&
           operand->strides[3] == 1;
  });
}

TensorCoreAttention::TensorCoreAttention(const rg_attention_desc &desc,
                                         AttentionBlock &b, Owner owner,
                                         int64_t fragments)
    : desc(desc), b(b), cores(b, AttentionBlock::kThreads, desc.q.dtype),
      owner(owner), fragments(fragments),
      firstOfWarp(b.mul(cores.warp, TensorCores::kRows * fragments)),
      // Otherwise one multiply-add scales and subtracts the maximum, which then
      // has to be the maximum of the scores without the scale.
      isScaled(desc.masked || desc.scale <= 0) {
  unit = isScaled ? 1 : desc.scale * kLog2E;
}

//===----------------------------------------------------------------------===//
// Own vectors
//===----------------------------------------------------------------------===//

void TensorCoreAttention::forEachOwn(function_ref<void(int64_t, Value)> visit) {
  for (int64_t i = 0; i != countOwn(); ++i)
    visit(i, b.add(b.add(firstOfWarp, cores.row), i * TensorCores::kRows / 2));
}

SmallVector<std::array<Value *, 2>>
TensorCoreAttention::getOwn(Sums &sums, int64_t number) {
  SmallVector<std::array<Value *, 2>> pairs;
  size_t count = sums.size() / fragments, half = number % 2 * 2;
  for (SumFragment &sum :
       MutableArrayRef(sums).slice(number / 2 * count, count))
    pairs.push_back({&sum[half], &sum[half + 1]});
  return pairs;
}

DeviceRows TensorCoreAttention::getRows(const HeadMatrix &matrix) {
  return {matrix.buffer, matrix.base, matrix.operand.strides[2], matrix.rows};
}

//===----------------------------------------------------------------------===//
// GEMMs of tiles
//===----------------------------------------------------------------------===//

Sums TensorCoreAttention::makeSums(int64_t width) {
  return cores.makeSums(width * fragments);
}

Sums TensorCoreAttention::multiply(const HalfTile &own, const HalfTile &tile,
                                   Value place, int64_t count) {
  Value left =
      cores.getPlace(own, TileRows::Outer, /*isLeft=*/true, firstOfWarp);
  Value right = cores.getPlace(tile, TileRows::Outer, /*isLeft=*/false, place);
  Sums sums = makeSums(count);
  for (int64_t k = 0; k != own.width; k += TensorCores::kDepth) {
    SmallVector<LeftFragment> factors;
    for (int64_t f = 0; f != fragments; ++f)
      factors.push_back(cores.loadLeft(own, TileRows::Outer, left,
                                       f * TensorCores::kRows, k));
    for (int64_t n = 0; n != count; n += 2 * TensorCores::kColumns)
      for (auto [i, factor] :
           llvm::enumerate(cores.loadRight(tile, TileRows::Outer, right, n, k)))
        for (int64_t f = 0; f != fragments; ++f) {
          SumFragment &sum = sums[(f * count + n) / TensorCores::kColumns + i];
          sum = cores.multiplyAdd(factors[f], factor, sum);
        }
  }
  return sums;
}

void TensorCoreAttention::accumulate(Sums &sums, const Sums &weights,
                                     const HalfTile &tile, Value place) {
  Value right = cores.getPlace(tile, TileRows::Inner, /*isLeft=*/false, place);
  size_t steps = weights.size() / fragments / 2;
  size_t columns = sums.size() / fragments;
  for (size_t k = 0; k != steps; ++k) {
    SmallVector<LeftFragment> factors;
    for (int64_t f = 0; f != fragments; ++f) {
      size_t first = 2 * (f * steps + k);
      factors.push_back(cores.narrow(weights[first], weights[first + 1]));
    }
    for (size_t n = 0; n != columns; n += 2)
      for (auto [i, factor] : llvm::enumerate(cores.loadRight(
               tile, TileRows::Inner, right, k * TensorCores::kDepth,
               n * TensorCores::kColumns)))
        for (int64_t f = 0; f != fragments; ++f) {
          SumFragment &sum = sums[f * columns + n + i];
          sum = cores.multiplyAdd(factors[f], factor, sum);
        }
  }
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

void TensorCoreAttention::addMask(Sums &scores, const HeadMatrix *mask,
                                  Value firstOwn, Value firstOther) {
  Value factor = b.number(desc.scale * kLog2E);
  auto change = [&](Value score, Value own, Value other) -> Value {
    score = arith::MulFOp::create(b, score, factor);
    if (!mask)
      return score;
    if (owner == Owner::Columns)
      std::swap(own, other);
    // Beyond the end, the last row or column is read, and not used.
    Value value = b.loadElement(*mask, b.min(own, b.index(desc.rows - 1)),
                                b.min(other, b.index(desc.columns - 1)));
    if (mask->operand.dtype != RG_I1)
      return cores.fma(value, b.number(kLog2E), score);
    Value zero = arith::ConstantOp::create(b, b.getI8IntegerAttr(0));
    Value isHidden =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, value, zero);
    return b.select(isHidden, b.number(-INFINITY), score);
  };
  forEachOwn([&](int64_t i, Value number) {
    Value own = b.add(firstOwn, number);
    for (auto [n, pair] : llvm::enumerate(getOwn(scores, i)))
      for (auto [e, score] : llvm::enumerate(pair)) {
        auto distance = static_cast<int64_t>(n * TensorCores::kColumns + e);
        *score = change(*score, own,
                        b.add(b.add(firstOther, cores.column), distance));
      }
  });
}

/// True if a row of the warp does not see all of the tile; null if each does.
Value TensorCoreAttention::mayHide(Value firstOwn, Value firstOther,
                                   int64_t count) {
  Value ownBegin = b.add(firstOwn, firstOfWarp);
  Value otherEnd = b.add(firstOther, count);
  int64_t others = owner == Owner::Rows ? desc.columns : desc.rows;
  Value condition;
  if (others % count != 0)
    condition = b.isLess(b.index(others), otherEnd);
  if (!desc.causal)
    return condition;
  // The first row does not see the last column.
  Value isCut;
  if (owner == Owner::Rows)
    isCut = b.isLess(b.add(ownBegin, 1), otherEnd);
  else
    isCut = b.isLess(b.add(firstOther, 1),
                     b.add(ownBegin, fragments * TensorCores::kRows));
  if (!condition)
    return isCut;
  return arith::OrIOp::create(b, condition, isCut);
}

void TensorCoreAttention::hide(Sums &scores, Value firstOwn, Value firstOther) {
  // Comparisons of 32 bits with constants, relative to the lane's first vector
  // of the tile.
  Value origin = b.add(firstOther, cores.column);
  auto getDistance = [&](Value vector) -> Value {
    Value distance = arith::SubIOp::create(b, vector, origin);
    return arith::IndexCastOp::create(b, b.getI32Type(), distance);
  };
  forEachOwn([&](int64_t i, Value number) {
    Value own = b.add(firstOwn, number), lower, upper;
    if (owner == Owner::Rows) {
      Value last = b.index(desc.columns - 1);
      upper = getDistance(desc.causal ? b.min(own, last) : last);
    } else {
      upper = getDistance(b.index(desc.rows - 1));
      if (desc.causal)
        lower = getDistance(own);
    }
    for (auto [n, pair] : llvm::enumerate(getOwn(scores, i)))
      for (auto [e, score] : llvm::enumerate(pair)) {
        Value distance = arith::ConstantOp::create(
            b, b.getI32IntegerAttr(
                   static_cast<int32_t>(n * TensorCores::kColumns + e)));
        Value isVisible = arith::CmpIOp::create(b, arith::CmpIPredicate::sle,
                                                distance, upper);
        if (lower)
          isVisible = b.both(isVisible,
                             arith::CmpIOp::create(b, arith::CmpIPredicate::sle,
                                                   lower, distance));
        *score = b.select(isVisible, *score, b.number(-INFINITY));
      }
  });
}

void TensorCoreAttention::mask(Sums &scores, const HeadMatrix *mask,
                               Value firstOwn, Value firstOther) {
  if (isScaled)
    addMask(scores, mask, firstOwn, firstOther);
  auto count =
      static_cast<int64_t>(scores.size()) / fragments * TensorCores::kColumns;
  Value condition = mayHide(firstOwn, firstOther, count);
  if (!condition)
    return;
  SmallVector<Value> before = flatten(scores);
  auto branch = scf::IfOp::create(b, ValueRange(before).getTypes(), condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  hide(scores, firstOwn, firstOther);
  scf::YieldOp::create(b, flatten(scores));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, before);
  scores = unflatten(branch.getResults());
}

Value TensorCoreAttention::weigh(Value score, Value minusShift) {
  return cores.exp2(cores.fma(score, b.number(unit), minusShift));
}

Value TensorCoreAttention::getMinusShift(Value log) {
  return arith::MulFOp::create(b, b.getShift(log), b.number(-kLog2E));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void TensorCoreAttention::store(Sums &sums, const HeadMatrix &matrix,
                                Value firstOwn, ArrayRef<Value> factors) {
  forEachOwn([&](int64_t i, Value number) {
    Value row = b.add(firstOwn, number);
    auto branch = scf::IfOp::create(b, b.isLess(row, b.index(matrix.rows)),
                                    /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    for (auto [n, pair] : llvm::enumerate(getOwn(sums, i))) {
      auto element = static_cast<int64_t>(n) * TensorCores::kColumns;
      Value both = cores.narrow(arith::MulFOp::create(b, *pair[0], factors[i]),
                                arith::MulFOp::create(b, *pair[1], factors[i]));
      vector::StoreOp::create(
          b, both, matrix.buffer,
          b.getAddress(matrix, row, b.add(cores.column, element)),
          /*nontemporal=*/false, llvm::MaybeAlign(4));
    }
  });
}
