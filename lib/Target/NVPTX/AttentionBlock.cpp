//===- AttentionBlock.cpp - What kernels for attention consist of ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionBlock.h"

#include "KnownAlignment.h"

#include "regather/Dialect/TG/IR/LaunchAttributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace regather;
using namespace regather::nvptx;

/// What the least of the GPUs that code is made for (sm_80) gives to a block,
/// with some left for a second one.
static constexpr int64_t kMaxSharedBytes = 144 * 1024;

/// Bytes of the widest access.
static constexpr int64_t kAccessBytes = 16;

int64_t nvptx::getElementBytes(int32_t dtype) {
  return dtype == RG_F32 ? 4 : dtype == RG_BF16 ? 2 : 1;
}

static Type getElementType(Builder &b, int32_t dtype) {
  if (dtype == RG_F32)
    return b.getF32Type();
  return dtype == RG_BF16 ? Type(b.getBF16Type()) : b.getI8Type();
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

int64_t AttentionBlock::getOwnPerWarp(const rg_attention_desc &desc) {
  // As many as there are registers for the sums.
  constexpr int64_t most = 8, narrow = 128;
  int64_t width = std::max(desc.width, desc.value_width);
  int64_t own = most;
  for (int64_t limit = narrow; own > 1 && width > limit; limit *= 2)
    own /= 2;
  return own;
}

/// The bytes of each buffer, and of scratch memory if there is any; and, in the
/// order of the buffers, whether it is written.
static SmallVector<std::pair<int64_t, bool>>
describeBuffers(const rg_attention_desc &desc) {
  SmallVector<std::pair<int64_t, bool>> buffers;
  auto add = [&](const rg_attention_operand &operand, int64_t heads,
                 int64_t rows, int64_t width, bool isWritten) {
    if (operand.buffer < 0)
      return;
    int64_t last = operand.offset;
    const int64_t sizes[] = {desc.batch, heads, rows, width};
    for (auto [size, stride] : llvm::zip_equal(sizes, operand.strides))
      last += (size - 1) * stride;
    auto number = static_cast<size_t>(operand.buffer);
    if (buffers.size() <= number)
      buffers.resize(number + 1, {1, false});
    auto &[bytes, written] = buffers[number];
    bytes = std::max(bytes, (last + 1) * getElementBytes(operand.dtype));
    written |= isWritten;
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

AttentionBlock::AttentionBlock(const rg_attention_desc &desc,
                               gpu::GPUModuleOp module, StringRef name,
                               int64_t blocks, int64_t scratchBytes)
    : ImplicitLocOpBuilder(module.getLoc(), module.getContext()), desc(desc),
      own(getOwnPerWarp(desc)) {
  setInsertionPointToEnd(module.getBody());
  auto buffers = describeBuffers(desc);
  if (scratchBytes != 0)
    buffers.push_back({scratchBytes, true});
  SmallVector<Type> types;
  for (auto [bytes, isWritten] : buffers)
    types.push_back(MemRefType::get(bytes, getI8Type()));
  func =
      gpu::GPUFuncOp::create(*this, name, getFunctionType(types, TypeRange()));
  func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), getUnitAttr());
  func.setKnownBlockSizeAttr(
      getDenseI32ArrayAttr({static_cast<int32_t>(kThreads), 1, 1}));
  func.setKnownGridSizeAttr(
      getDenseI32ArrayAttr({static_cast<int32_t>(blocks), 1, 1}));
  // Else ptxas spills, to make room for a third one.
  func->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), getI32IntegerAttr(2));
  if (scratchBytes != 0)
    func->setAttr(tg::kScratchBytesAttrName, getI64IntegerAttr(scratchBytes));
  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    auto number = static_cast<unsigned>(i);
    func.setArgAttr(number, LLVM::LLVMDialect::getNoAliasAttrName(),
                    getUnitAttr());
    func.setArgAttr(number, LLVM::LLVMDialect::getAlignAttrName(),
                    getI64IntegerAttr(kBufferAlignment));
    if (!buffer.second)
      func.setArgAttr(number, LLVM::LLVMDialect::getReadonlyAttrName(),
                      getUnitAttr());
  }
  setInsertionPointToStart(&func.getBody().front());
  block =
      gpu::BlockIdOp::create(*this, gpu::Dimension::x, getIndexAttr(blocks));
  thread =
      gpu::ThreadIdOp::create(*this, gpu::Dimension::x, getIndexAttr(kThreads));
  lane = arith::RemUIOp::create(*this, thread, index(kLanes));
  warp = arith::DivUIOp::create(*this, thread, index(kLanes));
  auto space =
      gpu::AddressSpaceAttr::get(getContext(), gpu::AddressSpace::Workgroup);
  shared = gpu::DynamicSharedMemoryOp::create(
      *this, MemRefType::get(ShapedType::kDynamic, getI8Type(),
                             MemRefLayoutAttrInterface(), space));
}

LogicalResult AttentionBlock::finish() {
  gpu::ReturnOp::create(*this);
  func->setAttr(tg::kDynamicSharedBytesAttrName,
                getI64IntegerAttr(sharedBytes));
  if (sharedBytes > kMaxSharedBytes)
    return func.emitError()
           << "attention with heads of " << desc.width << " and "
           << desc.value_width << " elements needs " << sharedBytes
           << " bytes of shared memory, but a block has " << kMaxSharedBytes;
  return success();
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value AttentionBlock::index(int64_t value) {
  return arith::ConstantIndexOp::create(*this, value);
}
Value AttentionBlock::number(float value) {
  return arith::ConstantOp::create(*this, getF32FloatAttr(value));
}
Value AttentionBlock::add(Value a, Value b) {
  if (a.getType().isIndex())
    return arith::AddIOp::create(*this, a, b);
  return arith::AddFOp::create(*this, a, b);
}
Value AttentionBlock::add(Value a, int64_t b) {
  return b == 0 ? a : add(a, index(b));
}
Value AttentionBlock::mul(Value a, int64_t b) {
  return b == 1 ? a : arith::MulIOp::create(*this, a, index(b)).getResult();
}
Value AttentionBlock::isLess(Value a, Value b) {
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::ult, a, b);
}
Value AttentionBlock::both(Value a, Value b) {
  return a && b ? arith::AndIOp::create(*this, a, b).getResult() : a ? a : b;
}
Value AttentionBlock::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(*this, condition, a, b);
}
Value AttentionBlock::max(Value a, Value b) {
  // The operation for it would be a call of libdevice.
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
  int64_t size = nvptx::getElementBytes(operand.dtype);
  Value bytes = func.getArgument(static_cast<unsigned>(operand.buffer));
  int64_t count = cast<MemRefType>(bytes.getType()).getDimSize(0) / size;
  Type element = ::getElementType(*this, operand.dtype);
  HeadMatrix matrix = {
      memref::ViewOp::create(*this, MemRefType::get(count, element), bytes,
                             index(0), ValueRange()),
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

Value AttentionBlock::loadScratch(Value i) {
  Value bytes = func.getArguments().back();
  int64_t count = cast<MemRefType>(bytes.getType()).getDimSize(0) / 4;
  Value floats =
      memref::ViewOp::create(*this, MemRefType::get(count, getF32Type()), bytes,
                             index(0), ValueRange());
  return memref::LoadOp::create(*this, floats, i);
}

void AttentionBlock::storeScratch(Value i, Value value) {
  Value bytes = func.getArguments().back();
  int64_t count = cast<MemRefType>(bytes.getType()).getDimSize(0) / 4;
  Value floats =
      memref::ViewOp::create(*this, MemRefType::get(count, getF32Type()), bytes,
                             index(0), ValueRange());
  memref::StoreOp::create(*this, value, floats, i);
}

Value AttentionBlock::getAddress(const HeadMatrix &matrix, Value row,
                                 Value element) {
  return add(add(matrix.base, mul(row, matrix.operand.strides[2])),
             mul(element, matrix.operand.strides[3]));
}

Value AttentionBlock::load(const HeadMatrix &matrix, Value row, Value element) {
  Value value = memref::LoadOp::create(*this, matrix.buffer,
                                       getAddress(matrix, row, element));
  if (value.getType().isBF16())
    return arith::ExtFOp::create(*this, getF32Type(), value);
  return value;
}

void AttentionBlock::store(const HeadMatrix &matrix, Value row, Value element,
                           Value value) {
  if (matrix.operand.dtype == RG_BF16)
    value = arith::TruncFOp::create(*this, getBF16Type(), value);
  memref::StoreOp::create(*this, value, matrix.buffer,
                          getAddress(matrix, row, element));
}

VectorType AttentionBlock::getVectorType(int64_t width) {
  return VectorType::get(width, getF32Type());
}

Value AttentionBlock::loadWide(const HeadMatrix &matrix, Value row,
                               Value element, int64_t width) {
  if (matrix.access < width) {
    SmallVector<Value> elements;
    for (int64_t i = 0; i != width; ++i)
      elements.push_back(load(matrix, row, add(element, i)));
    return vector::FromElementsOp::create(*this, getVectorType(width),
                                          elements);
  }
  Type type = ::getElementType(*this, matrix.operand.dtype);
  int64_t bytes = nvptx::getElementBytes(matrix.operand.dtype) * width;
  Value value =
      vector::LoadOp::create(*this, VectorType::get(width, type), matrix.buffer,
                             getAddress(matrix, row, element),
                             /*nontemporal=*/false, llvm::MaybeAlign(bytes));
  if (type.isBF16())
    return arith::ExtFOp::create(*this, getVectorType(width), value);
  return value;
}

Value AttentionBlock::maskScore(Value score, const HeadMatrix *mask, Value row,
                                Value column) {
  score = arith::MulFOp::create(*this, score, number(desc.scale));
  Value none = number(-INFINITY);
  if (mask) {
    // What lies beyond is read from the last row or column, and not used.
    Value last = arith::MinUIOp::create(*this, row, index(desc.rows - 1));
    Value value =
        load(*mask, last,
             arith::MinUIOp::create(*this, column, index(desc.columns - 1)));
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
  int64_t floats = count * tile.getStride();
  auto type =
      MemRefType::get(floats, getF32Type(), MemRefLayoutAttrInterface(),
                      cast<MemRefType>(shared.getType()).getMemorySpace());
  Value view = memref::ViewOp::create(*this, type, shared, index(sharedBytes),
                                      ValueRange());
  // Vectors are lowered before memory spaces; LLVM finds the space again.
  tile.memory = memref::MemorySpaceCastOp::create(
      *this, MemRefType::get(floats, getF32Type()), view);
  sharedBytes += floats * 4;
  return tile;
}

Value AttentionBlock::loadTile(const SharedTile &tile, Value vector,
                               Value element, int64_t width) {
  return vector::LoadOp::create(*this, getVectorType(width), tile.memory,
                                add(mul(vector, tile.getStride()), element),
                                /*nontemporal=*/false,
                                llvm::MaybeAlign(4 * width));
}

void AttentionBlock::fillTile(const SharedTile &tile, const HeadMatrix &matrix,
                              Value first) {
  int64_t access = matrix.access;
  int64_t pieces = tile.padded / access;
  auto loop = scf::ForOp::create(*this, thread, index(tile.count * pieces),
                                 index(kThreads));
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  Value vector =
      arith::DivUIOp::create(*this, loop.getInductionVar(), index(pieces));
  Value piece =
      arith::RemUIOp::create(*this, loop.getInductionVar(), index(pieces));
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
    Value zero =
        arith::ConstantOp::create(*this, getZeroAttr(getVectorType(access)));
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
  Value zero =
      arith::ConstantOp::create(*this, getZeroAttr(getVectorType(width)));
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
  memref::StoreOp::create(*this, weight, weights.memory,
                          add(mul(getOwn(number), weights.getStride()), lane));
}

VectorSums AttentionBlock::makeSums(int64_t width) {
  Value zero = arith::ConstantOp::create(
      *this, getZeroAttr(getVectorType(getPieceWidth(width))));
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
        store(matrix, row, add(first, static_cast<int64_t>(i)), element);
      continue;
    }
    Value vector =
        vector::FromElementsOp::create(*this, getVectorType(width), elements);
    if (matrix.operand.dtype == RG_BF16)
      vector = arith::TruncFOp::create(
          *this, VectorType::get(width, getBF16Type()), vector);
    vector::StoreOp::create(
        *this, vector, matrix.buffer, getAddress(matrix, row, first),
        /*nontemporal=*/false,
        llvm::MaybeAlign(nvptx::getElementBytes(matrix.operand.dtype) * width));
  }
}

Value AttentionBlock::multiplyRow(const SharedTile &ownTile, int64_t number,
                                  const HeadMatrix &matrix, Value row) {
  Value last = arith::MinUIOp::create(*this, row, index(matrix.rows - 1));
  Value sum = this->number(0);
  for (int64_t element = 0; element < matrix.width; element += kLanes) {
    // Vectors in shared memory end with zeros.
    Value place = add(lane, element);
    Value other =
        load(matrix, last,
             arith::MinUIOp::create(*this, place, index(matrix.width - 1)));
    Value mine = vector::ExtractOp::create(
        *this, loadTile(ownTile, getOwn(number), place, 1), 0);
    sum = math::FmaOp::create(*this, mine, other, sum);
  }
  return sumLanes(sum);
}
