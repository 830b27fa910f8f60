//===- RemoveFastMath.cpp - Remove fast-math flags ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace regather;

namespace regather::kernel {
#define GEN_PASS_DEF_REMOVEFASTMATHPASS
#include "regather/Kernel/Transforms/Passes.h.inc"
} // namespace regather::kernel

namespace {
class RemoveFastMathPass
    : public kernel::impl::RemoveFastMathPassBase<RemoveFastMathPass> {
public:
  using RemoveFastMathPassBase::RemoveFastMathPassBase;

  void runOnOperation() override {
    auto none = arith::FastMathFlagsAttr::get(&getContext(),
                                              arith::FastMathFlags::none);
    getOperation().walk([&](arith::ArithFastMathInterface op) {
      if (op.getFastMathFlagsAttr() != none)
        ++numRemoved;
      op->setAttr(op.getFastMathAttrName(), none);
    });
  }
};
} // namespace
