//===- ProductKernel.cpp - Products as functions of the gpu dialect -------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block computes a tile of C, each thread 4 x 4 elements of it:
//
//   for block of k:
//     copy the rows of A and the columns of B to shared memory, as f32
//     for l in the block:
//       sums += A[rows, l] * B[l, columns]
//   C = convert(relu(alpha * sums + addends))
//
// An element is one chain of multiply-adds in the order of k: its bits depend
// on k alone.
//
//===----------------------------------------------------------------------===//

#include "ProductKernel.h"

#include "RoutineBlock.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace regather;
using namespace regather::nvptx;

/// Rows and columns of a tile, and what a thread computes of each.
static constexpr int64_t kTile = 64, kPiece = 4;
/// Of k.
static constexpr int64_t kDepth = 16;
static constexpr int64_t kThreads = kTile / kPiece * (kTile / kPiece);
/// From one step of k to the next in shared memory, with a gap against accesses
/// to one bank.
static constexpr int64_t kStride = kTile + 4;

namespace {
class ProductKernel {
public:
  ProductKernel(const rg_gemm_desc &desc, RoutineBlock &b) : desc(desc), b(b) {}

  LogicalResult build();

private:
  /// A matrix of an operand for the element of the batch.
  struct Matrix {
    Value buffer, base;
    const int64_t *strides;
  };

  void findTile();
  Matrix getMatrix(const rg_gemm_operand &operand);
  Value getPlace(const Matrix &matrix, Value row, Value column);
  /// Copies `across` x `depth` elements; `strides` are those of the matrix
  /// along these.
  void copyTile(const Matrix &matrix, Value firstAcross, Value firstDepth,
                int64_t size, ArrayRef<int64_t> strides, Value target);
  SmallVector<Value> addBlock(Value depth, ValueRange sums);
  void storeElement(Value sum, Value row, Value column);

  const rg_gemm_desc &desc;
  RoutineBlock &b;
  SmallVector<Value> batch;
  Value firstRow, firstColumn, ownRow, ownColumn;
  Matrix left, right, result;
  SmallVector<Matrix> addends;
  Value leftTile, rightTile;
};
} // namespace

static int64_t countTiles(int64_t size) {
  return llvm::divideCeil(size, kTile);
}

static int64_t countBatch(const rg_gemm_desc &desc) {
  int64_t count = 1;
  for (int64_t i = 0; i < desc.batch_rank; ++i)
    count *= desc.batch_sizes[i];
  return count;
}

void ProductKernel::findTile() {
  auto [outer, column] = b.divide(b.block, countTiles(desc.n));
  auto [element, row] = b.divide(outer, countTiles(desc.m));
  firstRow = b.mul(row, kTile);
  firstColumn = b.mul(column, kTile);
  batch.resize(static_cast<size_t>(desc.batch_rank));
  for (int64_t i = desc.batch_rank; i-- > 0;)
    std::tie(element, batch[i]) = b.divide(element, desc.batch_sizes[i]);
  auto [threadRow, threadColumn] = b.divide(b.thread, kTile / kPiece);
  ownRow = b.mul(threadRow, kPiece);
  ownColumn = b.mul(threadColumn, kPiece);
}

ProductKernel::Matrix ProductKernel::getMatrix(const rg_gemm_operand &operand) {
  Value base = b.index(operand.offset);
  for (auto [i, number] : llvm::enumerate(batch))
    base = b.add(base, b.mul(number, operand.batch_strides[i]));
  return {b.getBuffer(operand.buffer, operand.dtype), base, operand.strides};
}

Value ProductKernel::getPlace(const Matrix &matrix, Value row, Value column) {
  return b.add(b.add(matrix.base, b.mul(row, matrix.strides[0])),
               b.mul(column, matrix.strides[1]));
}

void ProductKernel::copyTile(const Matrix &matrix, Value firstAcross,
                             Value firstDepth, int64_t size,
                             ArrayRef<int64_t> strides, Value target) {
  // Neighbouring threads read along the smaller stride.
  bool isDeep = strides[1] < strides[0];
  for (int64_t i = 0; i != kTile * kDepth / kThreads; ++i) {
    Value number = b.add(b.thread, i * kThreads);
    auto [major, minor] = b.divide(number, isDeep ? kDepth : kTile);
    Value across = isDeep ? major : minor, depth = isDeep ? minor : major;
    Value from = b.add(firstAcross, across), step = b.add(firstDepth, depth);
    Value exists;
    if (size % kTile != 0)
      exists = b.isLess(from, b.index(size));
    if (desc.k % kDepth != 0)
      exists = b.both(exists, b.isLess(step, b.index(desc.k)));
    // What does not exist counts as zero; the place is that of an element.
    Value last = b.min(from, b.index(size - 1));
    Value end = b.min(step, b.index(desc.k - 1));
    Value place = b.add(b.add(matrix.base, b.mul(last, strides[0])),
                        b.mul(end, strides[1]));
    Value value = b.load(matrix.buffer, place);
    if (exists)
      value = b.select(exists, value, b.number(0));
    b.store(value, target, b.add(b.mul(depth, kStride), across));
  }
}

SmallVector<Value> ProductKernel::addBlock(Value depth, ValueRange sums) {
  const int64_t columnStrides[] = {desc.b.strides[1], desc.b.strides[0]};
  b.barrier();
  copyTile(left, firstRow, depth, desc.m, ArrayRef(desc.a.strides), leftTile);
  copyTile(right, firstColumn, depth, desc.n, columnStrides, rightTile);
  b.barrier();
  SmallVector<Value> next(sums);
  for (int64_t l = 0; l != kDepth; ++l) {
    Value rows = b.loadShared(leftTile, b.add(ownRow, l * kStride), kPiece);
    Value columns =
        b.loadShared(rightTile, b.add(ownColumn, l * kStride), kPiece);
    for (auto [i, sum] : llvm::enumerate(next)) {
      Value factor =
          vector::ExtractOp::create(b, rows, static_cast<int64_t>(i));
      sum = vector::FMAOp::create(
          b, vector::BroadcastOp::create(b, columns.getType(), factor), columns,
          sum);
    }
  }
  return next;
}

void ProductKernel::storeElement(Value sum, Value row, Value column) {
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

LogicalResult ProductKernel::build() {
  findTile();
  left = getMatrix(desc.a);
  right = getMatrix(desc.b);
  result = getMatrix(desc.c);
  for (int32_t i = 0; i < desc.addend_count; ++i)
    addends.push_back(getMatrix(desc.addends[i]));
  leftTile = b.makeShared(kDepth * kStride);
  rightTile = b.makeShared(kDepth * kStride);
  SmallVector<Value> zeros(kPiece, b.makeZeros(kPiece));
  auto loop = scf::ForOp::create(b, b.index(0), b.index(desc.k),
                                 b.index(kDepth), zeros);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(
        b, addBlock(loop.getInductionVar(), loop.getRegionIterArgs()));
  }
  for (int64_t i = 0; i != kPiece; ++i)
    for (int64_t j = 0; j != kPiece; ++j)
      storeElement(vector::ExtractOp::create(b, loop.getResult(i), j),
                   b.add(firstRow, b.add(ownRow, i)),
                   b.add(firstColumn, b.add(ownColumn, j)));
  return b.finish();
}

LogicalResult nvptx::buildProductKernel(const rg_gemm_desc &desc,
                                        gpu::GPUModuleOp module,
                                        StringRef name) {
  int64_t blocks = countBatch(desc) * countTiles(desc.m) * countTiles(desc.n);
  if (blocks == 0)
    return module.emitError() << "the product has nothing to compute";
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
  RoutineBlock block(module, name, buffers, {blocks, kThreads});
  return ProductKernel(desc, block).build();
}
