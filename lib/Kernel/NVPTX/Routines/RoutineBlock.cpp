//===- RoutineBlock.cpp - Build the kernel of a routine -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoutineBlock.h"

#include "../KnownAlignment.h"

#include "regather/Dialect/TG/IR/KernelAttributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace regather;
using namespace regather::nvptx;

/// Shared memory that a block may ask for: that of the smallest supported GPU
/// (sm_80).
static constexpr int64_t kMaxSharedBytes = 144 * 1024;

int64_t nvptx::getElementBytes(int32_t dtype) {
  return dtype == RG_F32 ? 4 : dtype == RG_I1 ? 1 : 2;
}

Type nvptx::getElementType(Builder &builder, int32_t dtype) {
  if (dtype == RG_F32)
    return builder.getF32Type();
  if (dtype == RG_BF16)
    return builder.getBF16Type();
  return dtype == RG_F16 ? Type(builder.getF16Type()) : builder.getI8Type();
}

void RoutineBuffers::add(int32_t number, int32_t dtype, int64_t last,
                         bool isWritten, bool mayOverlap) {
  if (number < 0)
    return;
  if (buffers.size() <= static_cast<size_t>(number))
    buffers.resize(static_cast<size_t>(number) + 1);
  Buffer &buffer = buffers[static_cast<size_t>(number)];
  buffer.bytes = std::max(buffer.bytes, (last + 1) * getElementBytes(dtype));
  buffer.isWritten |= isWritten;
  buffer.mayOverlap |= mayOverlap;
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

RoutineBlock::RoutineBlock(gpu::GPUModuleOp module, StringRef name,
                           const RoutineBuffers &buffers, const Launch &launch)
    : ImplicitLocOpBuilder(module.getLoc(), module.getContext()) {
  setInsertionPointToEnd(module.getBody());
  SmallVector<RoutineBuffers::Buffer> all(buffers.get());
  if (launch.scratchBytes != 0)
    all.push_back({launch.scratchBytes, true});
  SmallVector<Type> types;
  for (const RoutineBuffers::Buffer &buffer : all)
    types.push_back(MemRefType::get(buffer.bytes, getI8Type()));
  func =
      gpu::GPUFuncOp::create(*this, name, getFunctionType(types, TypeRange()));
  func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), getUnitAttr());
  func.setKnownBlockSizeAttr(
      getDenseI32ArrayAttr({static_cast<int32_t>(launch.threads), 1, 1}));
  func.setKnownGridSizeAttr(
      getDenseI32ArrayAttr({static_cast<int32_t>(launch.blocks), 1, 1}));
  // Without this attribute, ptxas would spill registers to make room for more
  // blocks.
  func->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                getI32IntegerAttr(launch.minBlocks));
  if (launch.scratchBytes != 0)
    func->setAttr(tg::kScratchBytesAttrName,
                  getI64IntegerAttr(launch.scratchBytes));
  for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i) {
    func.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                    getI64IntegerAttr(kBufferAlignment));
    if (!all[i].isWritten)
      func.setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(),
                      getUnitAttr());
    if (!all[i].isWritten && !all[i].mayOverlap)
      func.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                      getUnitAttr());
  }
  setInsertionPointToStart(&func.getBody().front());
  block = gpu::BlockIdOp::create(*this, gpu::Dimension::x,
                                 getIndexAttr(launch.blocks));
  thread = gpu::ThreadIdOp::create(*this, gpu::Dimension::x,
                                   getIndexAttr(launch.threads));
  auto space =
      gpu::AddressSpaceAttr::get(getContext(), gpu::AddressSpace::Workgroup);
  shared = gpu::DynamicSharedMemoryOp::create(
      *this, MemRefType::get(ShapedType::kDynamic, getI8Type(),
                             MemRefLayoutAttrInterface(), space));
}

LogicalResult RoutineBlock::finish() {
  gpu::ReturnOp::create(*this);
  func->setAttr(tg::kDynamicSharedBytesAttrName,
                getI64IntegerAttr(sharedBytes));
  if (sharedBytes > kMaxSharedBytes)
    return func.emitError()
           << "needs " << sharedBytes
           << " bytes of shared memory, but a block has " << kMaxSharedBytes;
  return success();
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value RoutineBlock::index(int64_t value) {
  return arith::ConstantIndexOp::create(*this, value);
}
Value RoutineBlock::number(float value) {
  return arith::ConstantOp::create(*this, getF32FloatAttr(value));
}
Value RoutineBlock::add(Value a, Value b) {
  if (a.getType().isIndex())
    return arith::AddIOp::create(*this, a, b);
  return arith::AddFOp::create(*this, a, b);
}
Value RoutineBlock::add(Value a, int64_t b) {
  return b == 0 ? a : add(a, index(b));
}
Value RoutineBlock::mul(Value a, int64_t b) {
  if (b == 0)
    return index(0);
  return b == 1 ? a : arith::MulIOp::create(*this, a, index(b)).getResult();
}
std::pair<Value, Value> RoutineBlock::divide(Value a, int64_t b) {
  Value size = index(b);
  return {arith::DivUIOp::create(*this, a, size),
          arith::RemUIOp::create(*this, a, size)};
}
Value RoutineBlock::min(Value a, Value b) {
  return arith::MinUIOp::create(*this, a, b);
}
Value RoutineBlock::isLess(Value a, Value b) {
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::ult, a, b);
}
Value RoutineBlock::both(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return arith::AndIOp::create(*this, a, b);
}
Value RoutineBlock::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(*this, condition, a, b);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static Value viewAs(ImplicitLocOpBuilder &b, Value bytes, int32_t dtype) {
  int64_t count = cast<MemRefType>(bytes.getType()).getDimSize(0) /
                  nvptx::getElementBytes(dtype);
  Value zero = arith::ConstantIndexOp::create(b, 0);
  return memref::ViewOp::create(
      b, MemRefType::get(count, nvptx::getElementType(b, dtype)), bytes, zero,
      ValueRange());
}

Value RoutineBlock::getBuffer(int32_t number, int32_t dtype) {
  return viewAs(*this, func.getArgument(static_cast<unsigned>(number)), dtype);
}

Value RoutineBlock::getScratch() {
  return viewAs(*this, func.getArguments().back(), RG_F32);
}

Value RoutineBlock::load(Value buffer, Value place) {
  Value value = memref::LoadOp::create(*this, buffer, place);
  if (isa<BFloat16Type, Float16Type>(value.getType()))
    return arith::ExtFOp::create(*this, getF32Type(), value);
  return value;
}

void RoutineBlock::store(Value value, Value buffer, Value place) {
  Type type = cast<MemRefType>(buffer.getType()).getElementType();
  if (type != value.getType())
    value = arith::TruncFOp::create(*this, type, value);
  memref::StoreOp::create(*this, value, buffer, place);
}

VectorType RoutineBlock::getVectorType(int64_t width) {
  return VectorType::get(width, getF32Type());
}

Value RoutineBlock::makeZeros(int64_t width) {
  return arith::ConstantOp::create(*this, getZeroAttr(getVectorType(width)));
}

Value RoutineBlock::allocateShared(Type type, int64_t count) {
  constexpr int64_t alignment = 16;
  auto memory =
      MemRefType::get(count, type, MemRefLayoutAttrInterface(),
                      cast<MemRefType>(shared.getType()).getMemorySpace());
  Value view = memref::ViewOp::create(*this, memory, shared, index(sharedBytes),
                                      ValueRange());
  int64_t bytes = count * type.getIntOrFloatBitWidth() / 8;
  sharedBytes += static_cast<int64_t>(llvm::alignTo(bytes, alignment));
  return view;
}

Value RoutineBlock::makeShared(int64_t floats) {
  // Vectors are lowered before memory spaces are known; LLVM infers the space
  // again.
  return memref::MemorySpaceCastOp::create(
      *this, MemRefType::get(floats, getF32Type()),
      allocateShared(getF32Type(), floats));
}

Value RoutineBlock::loadShared(Value memory, Value place, int64_t width) {
  return vector::LoadOp::create(*this, getVectorType(width), memory, place,
                                /*nontemporal=*/false,
                                llvm::MaybeAlign(4 * width));
}
