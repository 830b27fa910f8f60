//===- StoreBooleansAsBytes.cpp - Booleans in memory ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/CPU/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace regather;

namespace regather::cpu {
#define GEN_PASS_DEF_STOREBOOLEANSASBYTESPASS
#include "regather/Kernel/CPU/Passes.h.inc"
} // namespace regather::cpu

/// The type in memory of a boolean, or of a vector of them; null for others.
static Type getByteType(Type type) {
  Type byte = IntegerType::get(type.getContext(), 8);
  if (type.isInteger(1))
    return byte;
  auto vector = dyn_cast<VectorType>(type);
  return vector && vector.getElementType().isInteger(1) ? vector.clone(byte)
                                                        : Type();
}

static void loadBytes(LLVM::LoadOp load, Type type) {
  OpBuilder b(load.getContext());
  b.setInsertionPointAfter(load);
  Value bytes = load.getResult();
  bytes.setType(type);
  Value zero =
      LLVM::ConstantOp::create(b, load.getLoc(), type, b.getZeroAttr(type));
  Value isTrue = LLVM::ICmpOp::create(b, load.getLoc(), LLVM::ICmpPredicate::ne,
                                      bytes, zero);
  bytes.replaceAllUsesExcept(isTrue, isTrue.getDefiningOp());
}

static void storeBytes(LLVM::StoreOp store, Type type) {
  OpBuilder b(store);
  store.getValueMutable().assign(
      LLVM::ZExtOp::create(b, store.getLoc(), type, store.getValue()));
}

namespace {
class StoreBooleansAsBytesPass
    : public cpu::impl::StoreBooleansAsBytesPassBase<StoreBooleansAsBytesPass> {
public:
  using StoreBooleansAsBytesPassBase::StoreBooleansAsBytesPassBase;

  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      auto load = dyn_cast<LLVM::LoadOp>(op);
      auto store = dyn_cast<LLVM::StoreOp>(op);
      if (!load && !store)
        return;
      Type type =
          getByteType(load ? load.getType() : store.getValue().getType());
      if (!type)
        return;
      if (load)
        loadBytes(load, type);
      else
        storeBytes(store, type);
      ++numAccesses;
    });
  }
};
} // namespace
