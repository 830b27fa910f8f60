//===- AttentionBlock.cpp - What kernels for attention consist of ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionBlock.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace regather;
using namespace regather::nvptx;

/// Bytes of the widest access.
static constexpr int64_t kAccessBytes = 16;

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

int64_t AttentionBlock::getOwnPerWarp(const rg_attention_desc &desc) {
  // As many vectors as there are registers for their sums.
  constexpr int64_t most = 8, narrow = 128;
  int64_t width = std::max(desc.width, desc.value_width);
  int64_t own = most;
  for (int64_t limit = narrow; own > 1 && width > limit; limit *= 2)
    own /= 2;
  return own;
}

static RoutineBuffers describeBuffers(const rg_attention_desc &desc) {
  RoutineBuffers buffers;
  auto add = [&](const rg_attention_operand &operand, int64_t heads,
                 int64_t rows, int64_t width, bool isWritten) {
    int64_t last = operand.offset;
    const int64_t sizes[] = {desc.batch, heads, rows, width};
    for (auto [size, stride] : llvm::zip_equal(sizes, operand.strides))
      last += (size - 1) * stride;
    buffers.add(operand.buffer, operand.dtype, last, isWritten);
  };
  int64_t keyHeads = desc.heads / desc.groups;
  bool forward = !desc.backward;
  add(desc.q, desc.heads, desc.rows, desc.width, false);
  add(desc.k, keyHeads, desc.columns, desc.width, false);
  add(desc.v, keyHeads, desc.columns, desc.value_width, false);
  if (desc.masked)
    add(desc.mask, desc.heads, desc.rows, desc.columns, false);
  add(desc.o, desc.heads, desc.rows, desc.value_width, forward);
  add(desc.l, desc.heads, desc.rows, 1, forward);
  if (desc.backward) {
    add(desc.grad_o, desc.heads, desc.rows, desc.value_width, false);
    add(desc.grad_q, desc.heads, desc.rows, desc.width, true);
    add(desc.grad_k, keyHeads, desc.columns, desc.width, true);
    add(desc.grad_v, keyHeads, desc.columns, desc.value_width, true);
  }
  return buffers;
}

/// Blocks on a multiprocessor: for one more, ptxas would spill registers.
static constexpr int32_t kMinBlocks = 2;

AttentionBlock::AttentionBlock(const rg_attention_desc &desc,
                               gpu::GPUModuleOp module, StringRef name,
                               int64_t blocks, int64_t scratchBytes)
    : RoutineBlock(module, name, describeBuffers(desc),
                   {blocks, kThreads, scratchBytes, kMinBlocks}),
      desc(desc), own(getOwnPerWarp(desc)) {
  std::tie(warp, lane) = divide(thread, kLanes);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value AttentionBlock::max(Value a, Value b) {
  // `arith.maximumf` would become a call of libdevice.
  return select(arith::CmpFOp::create(*this, arith::CmpFPredicate::OLT, a, b),
                b, a);
}
Value AttentionBlock::exp(Value x) { return math::ExpOp::create(*this, x); }

Value AttentionBlock::getShift(Value x) {
  Value isNone = arith::CmpFOp::create(*this, arith::CmpFPredicate::OEQ, x,
                                       number(-INFINITY));
  return select(isNone, number(0), x);
}

Value AttentionBlock::reduceLanes(Value value,
                                  function_ref<Value(Value, Value)> combine) {
  for (int32_t offset = kLanes / 2; offset != 0; offset /= 2)
    value = combine(value, gpu::ShuffleOp::create(*this, value, offset, kLanes,
                                                  gpu::ShuffleMode::XOR)
                               .getShuffleResult());
  return value;
}
Value AttentionBlock::sumLanes(Value value) {
  return reduceLanes(value, [&](Value a, Value b) { return add(a, b); });
}
Value AttentionBlock::maxLanes(Value value) {
  return reduceLanes(value, [&](Value a, Value b) { return max(a, b); });
}

//===----------------------------------------------------------------------===//
// Device memory
//===----------------------------------------------------------------------===//

HeadMatrix AttentionBlock::getMatrix(const rg_attention_operand &operand,
                                     int64_t rows, int64_t width, Value batch,
                                     Value head) {
  int64_t size = getElementBytes(operand.dtype);
  HeadMatrix matrix = {
      getBuffer(operand.buffer, operand.dtype),
      operand,
      add(add(mul(batch, operand.strides[0]), mul(head, operand.strides[1])),
          operand.offset),
      rows,
      width,
      1};
  // The widest access at whose multiples all rows begin.
  if (operand.strides[3] == 1)
    for (int64_t access = kAccessBytes / size; access > 1; access /= 2) {
      const int64_t distances[] = {operand.strides[0], operand.strides[1],
                                   operand.strides[2], operand.offset, width};
      if (llvm::all_of(distances, [&](int64_t d) { return d % access == 0; })) {
        matrix.access = access;
        break;
      }
    }
  return matrix;
}

Value AttentionBlock::getAddress(const HeadMatrix &matrix, Value row,
                                 Value element) {
  return add(add(matrix.base, mul(row, matrix.operand.strides[2])),
             mul(element, matrix.operand.strides[3]));
}

Value AttentionBlock::loadElement(const HeadMatrix &matrix, Value row,
                                  Value element) {
  return load(matrix.buffer, getAddress(matrix, row, element));
}

void AttentionBlock::storeElement(const HeadMatrix &matrix, Value row,
                                  Value element, Value value) {
  store(value, matrix.buffer, getAddress(matrix, row, element));
}

Value AttentionBlock::loadWide(const HeadMatrix &matrix, Value row,
                               Value element, int64_t width) {
  if (matrix.access < width) {
    SmallVector<Value> elements;
    for (int64_t i = 0; i != width; ++i)
      elements.push_back(loadElement(matrix, row, add(element, i)));
    return vector::FromElementsOp::create(*this, getVectorType(width),
                                          elements);
  }
  Type type = getElementType(*this, matrix.operand.dtype);
  int64_t bytes = getElementBytes(matrix.operand.dtype) * width;
  Value value =
      vector::LoadOp::create(*this, VectorType::get(width, type), matrix.buffer,
                             getAddress(matrix, row, element),
                             /*nontemporal=*/false, llvm::MaybeAlign(bytes));
  if (!type.isF32())
    return arith::ExtFOp::create(*this, getVectorType(width), value);
  return value;
}

Value AttentionBlock::maskScore(Value score, const HeadMatrix *mask, Value row,
                                Value column) {
  score = arith::MulFOp::create(*this, score, number(desc.scale));
  Value none = number(-INFINITY);
  if (mask) {
    // Beyond the end, the last row or column is read, and not used.
    Value value = loadElement(*mask, min(row, index(desc.rows - 1)),
                              min(column, index(desc.columns - 1)));
    if (mask->operand.dtype == RG_I1) {
      Value zero = arith::ConstantOp::create(*this, getI8IntegerAttr(0));
      Value isHidden =
          arith::CmpIOp::create(*this, arith::CmpIPredicate::eq, value, zero);
      score = select(isHidden, none, score);
    } else {
      score = add(score, value);
    }
  }
  Value isVisible;
  if (desc.columns % kLanes != 0 || desc.columns % (own * kWarps) != 0)
    isVisible = isLess(column, index(desc.columns));
  if (desc.rows % kLanes != 0 || desc.rows % (own * kWarps) != 0)
    isVisible = both(isVisible, isLess(row, index(desc.rows)));
  if (desc.causal)
    isVisible = both(isVisible, isLess(column, add(row, 1)));
  return isVisible ? select(isVisible, score, none) : score;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

int64_t AttentionBlock::getPieceWidth(int64_t width) {
  return width % (4 * kLanes) == 0 ? 4 : width % (2 * kLanes) == 0 ? 2 : 1;
}

int64_t AttentionBlock::getNumPieces(int64_t width) {
  return llvm::divideCeil(width, getPieceWidth(width) * kLanes);
}

Value AttentionBlock::getElement(int64_t piece, int64_t width) {
  int64_t pieceWidth = getPieceWidth(width);
  return add(mul(lane, pieceWidth), piece * kLanes * pieceWidth);
}

SharedTile AttentionBlock::makeTile(int64_t count, int64_t width) {
  auto padded = static_cast<int64_t>(llvm::alignTo(width, kLanes));
  SharedTile tile = {nullptr, count, width, padded};
  tile.memory = makeShared(count * tile.getStride());
  return tile;
}

Value AttentionBlock::loadTile(const SharedTile &tile, Value vector,
                               Value element, int64_t width) {
  return loadShared(tile.memory, add(mul(vector, tile.getStride()), element),
                    width);
}

void AttentionBlock::fillTile(const SharedTile &tile, const HeadMatrix &matrix,
                              Value first) {
  int64_t access = matrix.access;
  int64_t pieces = tile.padded / access;
  auto loop = scf::ForOp::create(*this, thread, index(tile.count * pieces),
                                 index(kThreads));
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  auto [vector, piece] = divide(loop.getInductionVar(), pieces);
  Value element = mul(piece, access);
  Value row = add(first, vector);
  Value exists;
  if (matrix.rows % tile.count != 0)
    exists = isLess(row, index(matrix.rows));
  if (matrix.width != tile.padded)
    exists = both(exists, isLess(element, index(matrix.width)));
  Value loaded;
  if (exists) {
    auto branch = scf::IfOp::create(*this, getVectorType(access), exists,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard inner(*this);
    setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(*this, loadWide(matrix, row, element, access));
    setInsertionPointToStart(branch.elseBlock());
    Value zero = makeZeros(access);
    scf::YieldOp::create(*this, zero);
    loaded = branch.getResult(0);
  } else {
    loaded = loadWide(matrix, row, element, access);
  }
  Value place = add(mul(vector, tile.getStride()), element);
  constexpr int64_t floats = kAccessBytes / 4;
  for (int64_t i = 0; i < access; i += floats) {
    int64_t width = std::min(floats, access - i);
    Value part = loaded;
    if (width != access)
      part = vector::ExtractStridedSliceOp::create(
          *this, loaded, ArrayRef<int64_t>(i), ArrayRef<int64_t>(width),
          ArrayRef<int64_t>(1));
    vector::StoreOp::create(*this, part, tile.memory, add(place, i),
                            /*nontemporal=*/false, llvm::MaybeAlign(4 * width));
  }
}

SmallVector<Value> AttentionBlock::multiply(const SharedTile &ownTile,
                                            const SharedTile &other) {
  constexpr int64_t width = kAccessBytes / 4;
  Value zero = makeZeros(width);
  SmallVector<Value> sums(own, zero);
  auto loop = scf::ForOp::create(
      *this, index(0),
      index(static_cast<int64_t>(llvm::alignTo(other.width, width))),
      index(width), sums);
  {
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(loop.getBody());
    Value element = loop.getInductionVar();
    Value right = loadTile(other, lane, element, width);
    SmallVector<Value> next;
    for (int64_t i = 0; i != own; ++i)
      next.push_back(vector::FMAOp::create(
          *this, loadTile(ownTile, getOwn(i), element, width), right,
          loop.getRegionIterArg(static_cast<unsigned>(i))));
    scf::YieldOp::create(*this, next);
  }
  SmallVector<Value> scores;
  for (Value sum : loop.getResults()) {
    SmallVector<Value> parts;
    for (int64_t i = 0; i != width; ++i)
      parts.push_back(vector::ExtractOp::create(*this, sum, i));
    scores.push_back(add(add(parts[0], parts[2]), add(parts[1], parts[3])));
  }
  return scores;
}

void AttentionBlock::storeWeight(const SharedTile &weights, int64_t number,
                                 Value weight) {
  store(weight, weights.memory,
        add(mul(getOwn(number), weights.getStride()), lane));
}

VectorSums AttentionBlock::makeSums(int64_t width) {
  Value zero = makeZeros(getPieceWidth(width));
  return VectorSums(static_cast<size_t>(own * getNumPieces(width)), zero);
}

void AttentionBlock::scale(VectorSums &sums, int64_t number, Value factor) {
  auto pieces = static_cast<int64_t>(sums.size()) / own;
  for (Value &sum : MutableArrayRef(sums).slice(number * pieces, pieces)) {
    Value factors = vector::BroadcastOp::create(*this, sum.getType(), factor);
    sum = arith::MulFOp::create(*this, sum, factors);
  }
}

VectorSums AttentionBlock::accumulate(const VectorSums &sums,
                                      const SharedTile &weights,
                                      const SharedTile &tile) {
  constexpr int64_t step = kAccessBytes / 4;
  int64_t width = getPieceWidth(tile.width), pieces = getNumPieces(tile.width);
  auto loop =
      scf::ForOp::create(*this, index(0), index(tile.count), index(step), sums);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next(loop.getRegionIterArgs());
  SmallVector<Value> factors;
  for (int64_t i = 0; i != own; ++i)
    factors.push_back(
        loadTile(weights, getOwn(i), loop.getInductionVar(), step));
  for (int64_t s = 0; s != step; ++s)
    for (int64_t p = 0; p != pieces; ++p) {
      Value vector = loadTile(tile, add(loop.getInductionVar(), s),
                              getElement(p, tile.width), width);
      for (int64_t i = 0; i != own; ++i) {
        Value factor = vector::ExtractOp::create(*this, factors[i], s);
        Value &sum = next[i * pieces + p];
        sum = vector::FMAOp::create(
            *this, vector::BroadcastOp::create(*this, sum.getType(), factor),
            vector, sum);
      }
    }
  scf::YieldOp::create(*this, next);
  return VectorSums(loop.getResults());
}

void AttentionBlock::storeSums(const VectorSums &sums, int64_t number,
                               const HeadMatrix &matrix, Value row,
                               function_ref<Value(Value)> change) {
  auto pieces = static_cast<int64_t>(sums.size()) / own;
  for (int64_t p = 0; p != pieces; ++p) {
    Value sum = sums[number * pieces + p];
    int64_t width = cast<VectorType>(sum.getType()).getDimSize(0);
    Value first = add(mul(lane, width), p * kLanes * width);
    Value exists = isLess(row, index(matrix.rows));
    auto branch = scf::IfOp::create(
        *this, both(exists, isLess(first, index(matrix.width))),
        /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> elements;
    for (int64_t i = 0; i != width; ++i)
      elements.push_back(change(vector::ExtractOp::create(*this, sum, i)));
    if (matrix.access < width) {
      for (auto [i, element] : llvm::enumerate(elements))
        storeElement(matrix, row, add(first, static_cast<int64_t>(i)), element);
      continue;
    }
    Value vector =
        vector::FromElementsOp::create(*this, getVectorType(width), elements);
    Type type = getElementType(*this, matrix.operand.dtype);
    if (!type.isF32())
      vector =
          arith::TruncFOp::create(*this, VectorType::get(width, type), vector);
    vector::StoreOp::create(
        *this, vector, matrix.buffer, getAddress(matrix, row, first),
        /*nontemporal=*/false,
        llvm::MaybeAlign(getElementBytes(matrix.operand.dtype) * width));
  }
}

Value AttentionBlock::multiplyRow(const SharedTile &ownTile, int64_t number,
                                  const HeadMatrix &matrix, Value row) {
  Value last = min(row, index(matrix.rows - 1));
  Value sum = this->number(0);
  for (int64_t element = 0; element < matrix.width; element += kLanes) {
    // Vectors in shared memory end with zeros.
    Value place = add(lane, element);
    Value other =
        loadElement(matrix, last, min(place, index(matrix.width - 1)));
    Value mine = vector::ExtractOp::create(
        *this, loadTile(ownTile, getOwn(number), place, 1), 0);
    sum = math::FmaOp::create(*this, mine, other, sum);
  }
  return sumLanes(sum);
}
