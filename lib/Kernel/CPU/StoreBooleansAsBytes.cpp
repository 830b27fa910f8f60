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

static void loadByte(LLVM::LoadOp load) {
  OpBuilder b(load.getContext());
  b.setInsertionPointAfter(load);
  Value byte = load.getResult();
  byte.setType(b.getI8Type());
  Value zero = LLVM::ConstantOp::create(b, load.getLoc(), b.getI8Type(), 0);
  Value isTrue = LLVM::ICmpOp::create(b, load.getLoc(), LLVM::ICmpPredicate::ne,
                                      byte, zero);
  byte.replaceAllUsesExcept(isTrue, isTrue.getDefiningOp());
}

static void storeByte(LLVM::StoreOp store) {
  OpBuilder b(store);
  store.getValueMutable().assign(
      LLVM::ZExtOp::create(b, store.getLoc(), b.getI8Type(), store.getValue()));
}

namespace {
class StoreBooleansAsBytesPass
    : public cpu::impl::StoreBooleansAsBytesPassBase<StoreBooleansAsBytesPass> {
public:
  using StoreBooleansAsBytesPassBase::StoreBooleansAsBytesPassBase;

  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      if (auto load = dyn_cast<LLVM::LoadOp>(op);
          load && load.getType().isInteger(1))
        loadByte(load);
      else if (auto store = dyn_cast<LLVM::StoreOp>(op);
               store && store.getValue().getType().isInteger(1))
        storeByte(store);
      else
        return;
      ++numAccesses;
    });
  }
};
} // namespace
