//===- ExecDialect.cpp - The exec dialect ---------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/Exec/IR/Exec.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace regather::exec;

#include "regather/Dialect/Exec/IR/ExecDialect.cpp.inc"

#include "regather/Dialect/Exec/IR/ExecEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "regather/Dialect/Exec/IR/ExecAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "regather/Dialect/Exec/IR/ExecTypes.cpp.inc"

#include "regather/Dialect/Exec/IR/ExecInterfaces.cpp.inc"

void ExecDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "regather/Dialect/Exec/IR/ExecAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "regather/Dialect/Exec/IR/ExecTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "regather/Dialect/Exec/IR/ExecOps.cpp.inc"
      >();
  declarePromisedInterface<tg::VerifiableStepOpInterface, ProgramOp>();
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

int64_t regather::exec::getElementBytes(Type element) {
  if (element.isIndex())
    return 8;
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

int64_t regather::exec::getBufferBytes(MemRefType type) {
  return type.getNumElements() * getElementBytes(type.getElementType());
}

/// True for a dense memref of static shape whose bytes can be counted.
static bool isDense(MemRefType memref) {
  if (!memref.hasStaticShape() || !memref.getLayout().isIdentity() ||
      !memref.getElementType().isIntOrIndexOrFloat())
    return false;
  // Offsets are computed in 64 bits.
  int64_t bytes = getElementBytes(memref.getElementType());
  for (int64_t size : memref.getShape())
    if (llvm::MulOverflow(bytes, std::max<int64_t>(size, 1), bytes))
      return false;
  return true;
}

bool regather::exec::isBuffer(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  return memref && !memref.getMemorySpace() && isDense(memref);
}

bool regather::exec::isHostBuffer(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  return memref && isa_and_nonnull<tg::HostAttr>(memref.getMemorySpace()) &&
         isDense(memref);
}

bool regather::exec::isScalarBuffer(Type type) {
  return isBuffer(type) && cast<MemRefType>(type).getRank() == 0;
}

RankedTensorType regather::exec::getTensorType(MemRefType type) {
  return RankedTensorType::get(type.getShape(), type.getElementType());
}

BufferPlace regather::exec::getPlace(Value buffer) {
  BufferPlace place = {buffer};
  while (auto view = place.base.getDefiningOp<ViewOp>()) {
    place.base = view.getSource();
    place.offset += static_cast<int64_t>(view.getOffset());
  }
  return place;
}
