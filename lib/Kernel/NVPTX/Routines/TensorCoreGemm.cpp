//===- TensorCoreGemm.cpp - GEMMs by tensor cores -------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block of 2 x 2 warps computes a tile of C, each warp a quarter of it, while
// the next blocks of k are copied:
//
//   copy the first blocks of k
//   for block of k:
//     wait for it, copy the one after those on their way
//     sums += A[rows, block] * B[block, columns]
//   C = convert(relu(alpha * sums + addends))      GemmBlock.h
//
// An element is one chain of sums in the order of k: its bits depend on k
// alone. With segments, each has its chain.
//
//===----------------------------------------------------------------------===//

#include "TensorCoreGemm.h"

#include "GemmBlock.h"
#include "TensorCores.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace regather;
using namespace regather::nvptx;

static constexpr int64_t kGemmThreads = 4 * TensorCores::kLanes;
/// Of k, and blocks of it in shared memory.
static constexpr int64_t kBlock = 32, kStages = 3;

/// Rows and columns of a tile, so large that most multiprocessors still have
/// work.
static int64_t chooseTile(const rg_gemm_desc &desc) {
  constexpr int64_t large = 128, small = 64, processors = 64;
  // Sums of several segments live at a time.
  return desc.segments < 2 && GemmBlock::countBlocks(desc, large) >= processors
             ? large
             : small;
}

namespace {
/// Which way a factor lies: the size along its consecutive elements, the
/// stride of the others and what the latter are.
struct FactorLayout {
  TileRows rows;
  int64_t stride, count, width;
  /// From one element of a row to the next: more than 1, or rows that are not
  /// aligned, are copied element by element.
  int64_t step = 1;
  bool isAligned = true;
};

class TensorCoreGemm : GemmBlock {
public:
  TensorCoreGemm(const rg_gemm_desc &desc, RoutineBlock &b, int64_t tile);

  LogicalResult build();

private:
  /// A factor on its way: rows or columns of the tile of C, and a part of k.
  struct Factor {
    FactorLayout layout;
    DeviceRows source;
    HalfTile tile;
    /// In C; and of the warp, in the tile.
    Value first, ownFirst;
  };

  Factor makeFactor(const Matrix &matrix, const FactorLayout &layout,
                    Value first, Value ownFirst);
  /// All threads begin to copy a block of k, if there is one, to a stage.
  void copy(Value depth);
  void copy(const Factor &factor, Value stage, Value depth);
  /// Where the warp finds fragments of a stage.
  Value getPlace(const Factor &factor, bool isLeft, Value stage);
  void addBlock(Value depth, Sums &sums);
  /// The sums over the segment that begins at `first`.
  SmallVector<Value> addSegment(int64_t first);

  TensorCores cores;
  /// Rows and columns of C, of the block and of a warp.
  int64_t tile, own;
  Factor leftFactor, rightFactor;
};
} // namespace

/// How an operand with `across` rows or columns of C lies. `strides` are those
/// along C and k. Rows are copied in pieces of 16 bytes if they can be.
static FactorLayout getLayout(const rg_gemm_desc &desc,
                              const rg_gemm_operand &operand, int64_t across,
                              ArrayRef<int64_t> strides) {
  auto isAligned = [](int64_t elements) { return elements % 8 == 0; };
  bool isBaseAligned =
      isAligned(operand.offset) &&
      llvm::all_of(ArrayRef(operand.batch_strides).take_front(desc.batch_rank),
                   isAligned);
  int64_t depth = GemmBlock::getDepth(desc);
  FactorLayout outer = {TileRows::Outer, strides[0], across, depth};
  FactorLayout inner = {TileRows::Inner, strides[1], depth, across};
  if (isBaseAligned && strides[1] == 1 && isAligned(strides[0]) &&
      isAligned(depth))
    return outer;
  if (isBaseAligned && strides[0] == 1 && isAligned(strides[1]) &&
      isAligned(across))
    return inner;
  FactorLayout layout = strides[0] == 1 ? inner : outer;
  layout.step = strides[0] == 1 ? 1 : strides[1];
  layout.isAligned = false;
  return layout;
}

static FactorLayout getLeftLayout(const rg_gemm_desc &desc) {
  return getLayout(desc, desc.a, desc.m, ArrayRef(desc.a.strides));
}

static FactorLayout getRightLayout(const rg_gemm_desc &desc) {
  return getLayout(desc, desc.b, desc.n,
                   {desc.b.strides[1], desc.b.strides[0]});
}

bool nvptx::fitsTensorCores(const rg_gemm_desc &desc) {
  return desc.k != 0 && desc.a.dtype == desc.b.dtype &&
         isTensorCoreType(desc.a.dtype);
}

TensorCoreGemm::TensorCoreGemm(const rg_gemm_desc &desc, RoutineBlock &b,
                               int64_t tile)
    : GemmBlock(desc, b, tile), cores(b, kGemmThreads, desc.a.dtype),
      tile(tile), own(tile / 2) {
  auto [warpRow, warpColumn] = b.divide(cores.warp, 2);
  leftFactor =
      makeFactor(left, getLeftLayout(desc), firstRow, b.mul(warpRow, own));
  rightFactor = makeFactor(right, getRightLayout(desc), firstColumn,
                           b.mul(warpColumn, own));
}

TensorCoreGemm::Factor TensorCoreGemm::makeFactor(const Matrix &matrix,
                                                  const FactorLayout &layout,
                                                  Value first, Value ownFirst) {
  bool isOuter = layout.rows == TileRows::Outer;
  DeviceRows source = {matrix.buffer, matrix.base, layout.stride, layout.count};
  HalfTile stages = cores.makeTile(kStages * (isOuter ? tile : kBlock),
                                   isOuter ? kBlock : tile);
  return {layout, source, stages, first, ownFirst};
}

void TensorCoreGemm::copy(const Factor &factor, Value stage, Value depth) {
  bool isOuter = factor.layout.rows == TileRows::Outer;
  int64_t rows = isOuter ? tile : kBlock;
  Value place = b.mul(stage, rows);
  Value first = isOuter ? factor.first : depth;
  Value column = isOuter ? depth : factor.first;
  const FactorLayout &layout = factor.layout;
  if (layout.isAligned)
    cores.copy(factor.tile, place, rows, factor.source, first, column,
               layout.width);
  else
    cores.copyElements(factor.tile, place, rows, factor.source, layout.step,
                       first, column, layout.width);
}

static Value getStage(RoutineBlock &b, Value depth) {
  return b.divide(b.divide(depth, kBlock).first, kStages).second;
}

void TensorCoreGemm::copy(Value depth) {
  auto branch = scf::IfOp::create(b, b.isLess(depth, b.index(getDepth())),
                                  /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value stage = getStage(b, depth);
    copy(leftFactor, stage, depth);
    copy(rightFactor, stage, depth);
  }
  // Groups are counted, so an empty one is committed, too.
  cores.commit();
}

Value TensorCoreGemm::getPlace(const Factor &factor, bool isLeft, Value stage) {
  if (factor.layout.rows == TileRows::Outer)
    return cores.getPlace(factor.tile, TileRows::Outer, isLeft,
                          b.add(b.mul(stage, tile), factor.ownFirst));
  return cores.getPlace(factor.tile, TileRows::Inner, isLeft,
                        b.mul(stage, kBlock), factor.ownFirst);
}

void TensorCoreGemm::addBlock(Value depth, Sums &sums) {
  // The block has arrived, and all warps are done with the one before.
  cores.wait(kStages - 2);
  b.barrier();
  copy(b.add(depth, (kStages - 1) * kBlock));
  Value stage = getStage(b, depth);
  Value leftPlace = getPlace(leftFactor, /*isLeft=*/true, stage);
  Value rightPlace = getPlace(rightFactor, /*isLeft=*/false, stage);
  /// The distance of fragments in a tile.
  auto getDistance = [](const Factor &factor, int64_t across, int64_t along) {
    return factor.layout.rows == TileRows::Outer ? std::pair(across, along)
                                                 : std::pair(along, across);
  };
  int64_t columns = own / TensorCores::kColumns;
  for (int64_t k = 0; k != kBlock; k += TensorCores::kDepth) {
    SmallVector<LeftFragment> factors;
    for (int64_t m = 0; m != own; m += TensorCores::kRows) {
      auto [row, column] = getDistance(leftFactor, m, k);
      factors.push_back(cores.loadLeft(leftFactor.tile, leftFactor.layout.rows,
                                       leftPlace, row, column));
    }
    for (int64_t n = 0; n != columns; n += 2) {
      auto [row, column] =
          getDistance(rightFactor, n * TensorCores::kColumns, k);
      for (auto [i, factor] : llvm::enumerate(
               cores.loadRight(rightFactor.tile, rightFactor.layout.rows,
                               rightPlace, row, column)))
        for (auto [m, mine] : llvm::enumerate(factors)) {
          SumFragment &sum = sums[m * columns + n + i];
          sum = cores.multiplyAdd(mine, factor, sum);
        }
    }
  }
}

SmallVector<Value> TensorCoreGemm::addSegment(int64_t first) {
  leftFactor.source.base = getPart(left, first, /*dim=*/1).base;
  rightFactor.source.base = getPart(right, first, /*dim=*/0).base;
  // All warps are done with the blocks of the segment before.
  if (first != 0)
    b.barrier();
  for (int64_t i = 0; i != kStages - 1; ++i)
    copy(b.index(i * kBlock));
  auto loop = scf::ForOp::create(
      b, b.index(0), b.index(getDepth()), b.index(kBlock),
      flatten(cores.makeSums(own * own / TensorCores::kRows)));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Sums sums = unflatten(loop.getRegionIterArgs());
  addBlock(loop.getInductionVar(), sums);
  scf::YieldOp::create(b, flatten(sums));
  return llvm::to_vector_of<Value>(loop.getResults());
}

LogicalResult TensorCoreGemm::build() {
  Sums sums =
      unflatten(addSegments([&](int64_t first) { return addSegment(first); }));
  int64_t columns = own / TensorCores::kColumns;
  Value row = b.add(b.add(firstRow, leftFactor.ownFirst), cores.row);
  Value column = b.add(b.add(firstColumn, rightFactor.ownFirst), cores.column);
  for (auto [number, sum] : llvm::enumerate(sums))
    for (auto [i, value] : llvm::enumerate(sum)) {
      auto n = static_cast<int64_t>(number);
      storeElement(value,
                   b.add(row, n / columns * TensorCores::kRows + i / 2 * 8),
                   b.add(column, n % columns * TensorCores::kColumns + i % 2));
    }
  return b.finish();
}

LogicalResult nvptx::buildTensorCoreGemm(const rg_gemm_desc &desc,
                                         gpu::GPUModuleOp module,
                                         StringRef name) {
  int64_t tile = chooseTile(desc);
  RoutineBlock block(module, name, GemmBlock::describeBuffers(desc),
                     {GemmBlock::countBlocks(desc, tile), kGemmThreads});
  return TensorCoreGemm(desc, block, tile).build();
}
