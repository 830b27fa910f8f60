//===- GemmKernel.cpp - GEMMs as functions of the gpu dialect -------------===//
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
//   C = convert(relu(alpha * sums + addends))      GemmBlock.h
//
// An element is one chain of multiply-adds in the order of k: its bits depend
// on k alone. With segments, each has its chain.
//
//===----------------------------------------------------------------------===//

#include "GemmKernel.h"

#include "GemmBlock.h"
#include "TensorCoreGemm.h"

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
class GemmKernel : GemmBlock {
public:
  GemmKernel(const rg_gemm_desc &desc, RoutineBlock &b)
      : GemmBlock(desc, b, kTile) {}

  LogicalResult build();

private:
  /// Copies `across` x `depth` elements; `strides` are those of the matrix
  /// along these.
  void copyTile(const Matrix &matrix, Value firstAcross, Value firstDepth,
                int64_t size, ArrayRef<int64_t> strides, Value target);
  SmallVector<Value> addBlock(Value depth, ValueRange sums);
  /// The sums over the segment that begins at `first`.
  SmallVector<Value> addSegment(int64_t first);

  Matrix leftPart, rightPart;
  Value ownRow, ownColumn;
  Value leftTile, rightTile;
};
} // namespace

void GemmKernel::copyTile(const Matrix &matrix, Value firstAcross,
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
    if (getDepth() % kDepth != 0)
      exists = b.both(exists, b.isLess(step, b.index(getDepth())));
    // Elements beyond the end count as zero, but the place that is read has to
    // exist.
    Value last = b.min(from, b.index(size - 1));
    Value end = b.min(step, b.index(getDepth() - 1));
    Value place = b.add(b.add(matrix.base, b.mul(last, strides[0])),
                        b.mul(end, strides[1]));
    Value value = b.load(matrix.buffer, place);
    if (exists)
      value = b.select(exists, value, b.number(0));
    b.store(value, target, b.add(b.mul(depth, kStride), across));
  }
}

SmallVector<Value> GemmKernel::addBlock(Value depth, ValueRange sums) {
  const int64_t columnStrides[] = {desc.b.strides[1], desc.b.strides[0]};
  b.barrier();
  copyTile(leftPart, firstRow, depth, desc.m, ArrayRef(desc.a.strides),
           leftTile);
  copyTile(rightPart, firstColumn, depth, desc.n, columnStrides, rightTile);
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

SmallVector<Value> GemmKernel::addSegment(int64_t first) {
  leftPart = getPart(left, first, /*dim=*/1);
  rightPart = getPart(right, first, /*dim=*/0);
  SmallVector<Value> zeros(kPiece, b.makeZeros(kPiece));
  auto loop = scf::ForOp::create(b, b.index(0), b.index(getDepth()),
                                 b.index(kDepth), zeros);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(
      b, addBlock(loop.getInductionVar(), loop.getRegionIterArgs()));
  return llvm::to_vector_of<Value>(loop.getResults());
}

LogicalResult GemmKernel::build() {
  auto [threadRow, threadColumn] = b.divide(b.thread, kTile / kPiece);
  ownRow = b.mul(threadRow, kPiece);
  ownColumn = b.mul(threadColumn, kPiece);
  leftTile = b.makeShared(kDepth * kStride);
  rightTile = b.makeShared(kDepth * kStride);
  SmallVector<Value> sums =
      addSegments([&](int64_t first) { return addSegment(first); });
  for (int64_t i = 0; i != kPiece; ++i)
    for (int64_t j = 0; j != kPiece; ++j)
      storeElement(vector::ExtractOp::create(b, sums[i], j),
                   b.add(firstRow, b.add(ownRow, i)),
                   b.add(firstColumn, b.add(ownColumn, j)));
  return b.finish();
}

LogicalResult nvptx::buildGemmKernel(const rg_gemm_desc &desc,
                                     gpu::GPUModuleOp module, StringRef name) {
  if (GemmBlock::countBlocks(desc, kTile) == 0)
    return module.emitError() << "the GEMM has nothing to compute";
  if (desc.segments > GemmBlock::kMaxSegments)
    return module.emitError() << "the GEMM sums over " << desc.segments
                              << " segments, but kernels for GPUs over at most "
                              << GemmBlock::kMaxSegments;
  if (fitsTensorCores(desc))
    return buildTensorCoreGemm(desc, module, name);
  RoutineBlock block(module, name, GemmBlock::describeBuffers(desc),
                     {GemmBlock::countBlocks(desc, kTile), kThreads});
  return GemmKernel(desc, block).build();
}
