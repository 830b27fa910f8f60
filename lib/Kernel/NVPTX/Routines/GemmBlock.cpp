//===- GemmBlock.cpp - What GEMM kernels have in common -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmBlock.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace regather;
using namespace regather::nvptx;

int64_t GemmBlock::countBlocks(const rg_gemm_desc &desc, int64_t tile) {
  auto count = static_cast<int64_t>(llvm::divideCeil(desc.m, tile) *
                                    llvm::divideCeil(desc.n, tile));
  for (int64_t i = 0; i < desc.batch_rank; ++i)
    count *= desc.batch_sizes[i];
  return count;
}

RoutineBuffers GemmBlock::describeBuffers(const rg_gemm_desc &desc) {
  RoutineBuffers buffers;
  auto add = [&](const rg_gemm_operand &operand, int64_t rows, int64_t columns,
                 bool isWritten, bool mayOverlap) {
    int64_t last = operand.offset +
                   std::max<int64_t>(rows - 1, 0) * operand.strides[0] +
                   std::max<int64_t>(columns - 1, 0) * operand.strides[1];
    for (int64_t i = 0; i < desc.batch_rank; ++i)
      last += (desc.batch_sizes[i] - 1) * operand.batch_strides[i];
    buffers.add(operand.buffer, operand.dtype, last, isWritten, mayOverlap);
  };
  add(desc.a, desc.m, desc.k, false, false);
  add(desc.b, desc.k, desc.n, false, false);
  add(desc.c, desc.m, desc.n, true, true);
  for (int32_t i = 0; i < desc.addend_count; ++i)
    add(desc.addends[i], desc.m, desc.n, false, true);
  return buffers;
}

GemmBlock::GemmBlock(const rg_gemm_desc &desc, RoutineBlock &b, int64_t tile)
    : desc(desc), b(b) {
  auto [outer, column] = b.divide(b.block, llvm::divideCeil(desc.n, tile));
  auto [element, row] = b.divide(outer, llvm::divideCeil(desc.m, tile));
  firstRow = b.mul(row, tile);
  firstColumn = b.mul(column, tile);
  batch.resize(static_cast<size_t>(desc.batch_rank));
  for (int64_t i = desc.batch_rank; i-- > 0;)
    std::tie(element, batch[i]) = b.divide(element, desc.batch_sizes[i]);
  left = getMatrix(desc.a);
  right = getMatrix(desc.b);
  result = getMatrix(desc.c);
  for (int32_t i = 0; i < desc.addend_count; ++i)
    addends.push_back(getMatrix(desc.addends[i]));
}

GemmBlock::Matrix GemmBlock::getPart(const Matrix &matrix, int64_t first,
                                     unsigned dim) {
  Matrix part = matrix;
  if (first != 0)
    part.base = b.add(part.base, first * part.strides[dim]);
  return part;
}

Value GemmBlock::roundSegment(Value sum) {
  if (desc.segment_dtype == RG_F32)
    return sum;
  Type type = sum.getType();
  Type narrow = getElementType(b, desc.segment_dtype);
  if (auto vector = dyn_cast<VectorType>(type))
    narrow = vector.clone(narrow);
  Value rounded = arith::TruncFOp::create(b, narrow, sum);
  return arith::ExtFOp::create(b, type, rounded);
}

SmallVector<Value> GemmBlock::addSegments(
    function_ref<SmallVector<Value>(int64_t first)> addSegment) {
  int64_t count = std::max<int64_t>(desc.segments, 1);
  if (count == 1)
    return addSegment(0);
  // The first half is whole before the second one begins, so that there are as
  // many sums at a time as the tree is high.
  auto addRange = [&](auto &self, int64_t begin,
                      int64_t end) -> SmallVector<Value> {
    if (end - begin == 1) {
      SmallVector<Value> sums = addSegment(begin * getDepth());
      for (Value &sum : sums)
        sum = roundSegment(sum);
      return sums;
    }
    int64_t middle = begin + (end - begin) / 2;
    SmallVector<Value> low = self(self, begin, middle);
    SmallVector<Value> high = self(self, middle, end);
    for (auto [sum, other] : llvm::zip_equal(low, high))
      sum = arith::AddFOp::create(b, sum, other);
    return low;
  };
  return addRange(addRange, 0, count);
}

GemmBlock::Matrix GemmBlock::getMatrix(const rg_gemm_operand &operand) {
  Value base = b.index(operand.offset);
  for (auto [i, number] : llvm::enumerate(batch))
    base = b.add(base, b.mul(number, operand.batch_strides[i]));
  return {b.getBuffer(operand.buffer, operand.dtype), base, operand.strides};
}

Value GemmBlock::getPlace(const Matrix &matrix, Value row, Value column) {
  return b.add(b.add(matrix.base, b.mul(row, matrix.strides[0])),
               b.mul(column, matrix.strides[1]));
}

void GemmBlock::storeElement(Value sum, Value row, Value column) {
  Value exists =
      b.both(b.isLess(row, b.index(desc.m)), b.isLess(column, b.index(desc.n)));
  auto branch = scf::IfOp::create(b, exists, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  if (desc.alpha != 1)
    sum = arith::MulFOp::create(b, sum, b.number(desc.alpha));
  for (const Matrix &addend : addends)
    sum = b.add(sum, b.load(addend.buffer, getPlace(addend, row, column)));
  if (desc.relu) {
    // NaN stays NaN.
    Value isNegative =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OLE, sum, b.number(0));
    sum = b.select(isNegative, b.number(0), sum);
  }
  b.store(sum, result.buffer, getPlace(result, row, column));
}
