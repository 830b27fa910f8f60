//===- TensorCores.cpp - Small GEMMs by a warp ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorCores.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace regather;
using namespace regather::nvptx;

/// Elements of one access to a tile: 16 bytes.
static constexpr int64_t kAccess = 8;

SmallVector<Value> nvptx::flatten(const Sums &sums) {
  SmallVector<Value> values;
  for (const SumFragment &sum : sums)
    llvm::append_range(values, sum);
  return values;
}

Sums nvptx::unflatten(ValueRange values) {
  Sums sums(values.size() / 4);
  for (auto [i, value] : llvm::enumerate(values))
    sums[i / 4][i % 4] = value;
  return sums;
}

bool nvptx::isTensorCoreType(int32_t dtype) {
  return dtype == RG_BF16 || dtype == RG_F16;
}

TensorCores::TensorCores(RoutineBlock &b, int64_t threads, int32_t dtype)
    : b(b), threads(threads), type(getElementType(b, dtype)) {
  std::tie(warp, lane) = b.divide(b.thread, kLanes);
  auto [first, inRow] = b.divide(lane, 4);
  row = first;
  column = b.mul(inRow, 2);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

HalfTile TensorCores::makeTile(int64_t rows, int64_t width) {
  HalfTile tile = {nullptr, rows, width};
  tile.memory = b.allocateShared(type, rows * tile.getStride());
  return tile;
}

void TensorCores::copy(const HalfTile &tile, Value place, int64_t count,
                       const DeviceRows &source, Value first, Value column,
                       std::optional<int64_t> end) {
  int64_t pieces = tile.width / kAccess, total = count * pieces;
  auto [threadRow, threadPiece] = b.divide(b.thread, pieces);
  for (int64_t i = 0; i < total; i += threads) {
    Value tileRow, piece;
    if (threads % pieces == 0) {
      tileRow = b.add(threadRow, i / pieces);
      piece = threadPiece;
    } else {
      std::tie(tileRow, piece) = b.divide(b.add(b.thread, i), pieces);
    }
    OpBuilder::InsertionGuard guard(b);
    if (i + threads > total) {
      Value isLast = b.isLess(tileRow, b.index(count));
      auto branch = scf::IfOp::create(b, isLast, /*withElseRegion=*/false);
      b.setInsertionPointToStart(branch.thenBlock());
    }
    Value from = b.add(first, tileRow), element = b.mul(piece, kAccess);
    Value start = column ? b.add(column, element) : element;
    Value exists;
    if (source.count % count != 0) {
      exists = b.isLess(from, b.index(source.count));
      from = b.min(from, b.index(source.count - 1));
    }
    if (end && *end % tile.width != 0) {
      exists = b.both(exists, b.isLess(start, b.index(*end)));
      start = b.min(start, b.index(*end - kAccess));
    }
    Value elements;
    if (exists)
      elements = b.select(exists, b.index(kAccess), b.index(0));
    nvgpu::DeviceAsyncCopyOp::create(
        b, nvgpu::DeviceAsyncTokenType::get(b.getContext()), tile.memory,
        b.add(b.mul(b.add(place, tileRow), tile.getStride()), element),
        source.buffer,
        b.add(b.add(source.base, b.mul(from, source.stride)), start),
        b.getIndexAttr(kAccess), elements, /*bypassL1=*/b.getUnitAttr());
  }
}

void TensorCores::copyElements(const HalfTile &tile, Value place, int64_t count,
                               const DeviceRows &source, int64_t step,
                               Value first, Value column, int64_t end) {
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
  for (int64_t i = 0, total = count * tile.width; i < total; i += threads) {
    auto [tileRow, element] = b.divide(b.add(b.thread, i), tile.width);
    OpBuilder::InsertionGuard guard(b);
    if (i + threads > total) {
      Value isLast = b.isLess(tileRow, b.index(count));
      auto branch = scf::IfOp::create(b, isLast, /*withElseRegion=*/false);
      b.setInsertionPointToStart(branch.thenBlock());
    }
    Value from = b.add(first, tileRow), start = b.add(column, element);
    Value exists;
    if (source.count % count != 0) {
      exists = b.isLess(from, b.index(source.count));
      from = b.min(from, b.index(source.count - 1));
    }
    if (end % tile.width != 0) {
      exists = b.both(exists, b.isLess(start, b.index(end)));
      start = b.min(start, b.index(end - 1));
    }
    Value value = memref::LoadOp::create(
        b, source.buffer,
        b.add(b.add(source.base, b.mul(from, source.stride)),
              b.mul(start, step)));
    if (exists)
      value = b.select(exists, value, zero);
    memref::StoreOp::create(
        b, value, tile.memory,
        b.add(b.mul(b.add(place, tileRow), tile.getStride()), element));
  }
}

void TensorCores::commit() { NVVM::CpAsyncCommitGroupOp::create(b); }

void TensorCores::wait(int64_t groups) {
  NVVM::CpAsyncWaitGroupOp::create(b, static_cast<uint32_t>(groups));
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

// A factor is loaded as 8 x 8 matrices. Lanes 8 i to 8 i + 7 say where the rows
// of matrix i begin. Two registers of a left fragment lie below each other, and
// two of a right one along the sum.

Value TensorCores::getPlace(const HalfTile &tile, TileRows rows, bool isLeft,
                            Value row, Value column) {
  // Whether the second matrix lies below the first in the tile, or beside it.
  bool isBelow = isLeft == (rows == TileRows::Outer);
  auto [number, inMatrix] = b.divide(lane, 8);
  auto [high, low] = b.divide(number, 2);
  Value down = b.mul(isBelow ? low : high, 8);
  Value right = b.mul(isBelow ? high : low, 8);
  Value place = b.mul(b.add(row, b.add(inMatrix, down)), tile.getStride());
  return b.add(place, column ? b.add(column, right) : right);
}

std::array<Value, 4> TensorCores::loadMatrices(const HalfTile &tile,
                                               Value place, bool isTransposed) {
  auto vectors = nvgpu::LdMatrixOp::create(b, VectorType::get({4, 2}, type),
                                           tile.memory, place, isTransposed,
                                           /*numTiles=*/4);
  std::array<Value, 4> registers;
  for (auto [i, value] : llvm::enumerate(registers))
    value = vector::ExtractOp::create(b, vectors, static_cast<int64_t>(i));
  return registers;
}

LeftFragment TensorCores::loadLeft(const HalfTile &tile, TileRows rows,
                                   Value place, int64_t row, int64_t column) {
  return loadMatrices(tile, b.add(place, row * tile.getStride() + column),
                      rows == TileRows::Inner);
}

std::array<RightFragment, 2> TensorCores::loadRight(const HalfTile &tile,
                                                    TileRows rows, Value place,
                                                    int64_t row,
                                                    int64_t column) {
  std::array<Value, 4> all =
      loadMatrices(tile, b.add(place, row * tile.getStride() + column),
                   rows == TileRows::Inner);
  return {RightFragment{all[0], all[1]}, RightFragment{all[2], all[3]}};
}

Value TensorCores::narrow(Value first, Value second) {
  Value both = vector::FromElementsOp::create(b, b.getVectorType(2),
                                              ValueRange{first, second});
  return arith::TruncFOp::create(b, VectorType::get(2, type), both);
}

LeftFragment TensorCores::narrow(const SumFragment &first,
                                 const SumFragment &second) {
  return {narrow(first[0], first[1]), narrow(first[2], first[3]),
          narrow(second[0], second[1]), narrow(second[2], second[3])};
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

Sums TensorCores::makeSums(int64_t columns) {
  Value zero = b.number(0);
  return Sums(columns / kColumns, SumFragment{zero, zero, zero, zero});
}

SumFragment TensorCores::multiplyAdd(const LeftFragment &left,
                                     const RightFragment &right,
                                     const SumFragment &sums) {
  // bf16 is passed as bits, f16 as it is.
  auto getRegisters = [&](ArrayRef<Value> fragment) {
    SmallVector<Value> registers(fragment);
    if (type.isBF16())
      for (Value &value : registers)
        value = LLVM::BitcastOp::create(b, b.getI32Type(), value);
    return registers;
  };
  NVVM::MMATypes factor =
      type.isBF16() ? NVVM::MMATypes::bf16 : NVVM::MMATypes::f16;
  auto result = NVVM::MmaOp::create(
      b,
      LLVM::LLVMStructType::getLiteral(b.getContext(),
                                       SmallVector<Type>(4, b.getF32Type())),
      getRegisters(left), getRegisters(right), sums,
      ArrayRef<int64_t>{kRows, kColumns, kDepth}, /*b1Op=*/std::nullopt,
      /*intOverflow=*/std::nullopt,
      std::array<NVVM::MMATypes, 2>{factor, factor},
      std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                     NVVM::MMALayout::col});
  SumFragment next;
  for (auto [i, value] : llvm::enumerate(next))
    value = LLVM::ExtractValueOp::create(b, result, static_cast<int64_t>(i));
  return next;
}

static Value exchange(RoutineBlock &b, Value value, int32_t offset) {
  return gpu::ShuffleOp::create(b, value, offset,
                                static_cast<int32_t>(TensorCores::kLanes),
                                gpu::ShuffleMode::XOR)
      .getShuffleResult();
}

Value TensorCores::sumRow(Value value) {
  value = b.add(value, exchange(b, value, 2));
  return b.add(value, exchange(b, value, 1));
}
Value TensorCores::maxRow(Value value) {
  value = max(value, exchange(b, value, 2));
  return max(value, exchange(b, value, 1));
}

static Value callIntrinsic(RoutineBlock &b, StringRef name, ValueRange values) {
  return LLVM::CallIntrinsicOp::create(b, Type(b.getF32Type()),
                                       b.getStringAttr(name), values)
      .getResults();
}

Value TensorCores::max(Value x, Value y) {
  return callIntrinsic(b, "llvm.maxnum", {x, y});
}
Value TensorCores::exp2(Value x) {
  return callIntrinsic(b, "llvm.nvvm.ex2.approx.ftz", x);
}
Value TensorCores::fma(Value x, Value y, Value z) {
  return math::FmaOp::create(b, x, y, z);
}
