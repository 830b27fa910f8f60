//===- ExpandClasses.cpp - Classes of numbers as comparisons --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace regather;

namespace regather::kernel {
#define GEN_PASS_DEF_EXPANDCLASSESPASS
#include "regather/Kernel/Transforms/Passes.h.inc"
} // namespace regather::kernel

/// A number in the type of `like`, which may be a tensor.
static Value makeNumber(OpBuilder &builder, Location loc, Value like,
                        const llvm::APFloat &number) {
  Type type = like.getType();
  TypedAttr value =
      FloatAttr::get(cast<FloatType>(getElementTypeOrSelf(type)), number);
  if (auto shaped = dyn_cast<ShapedType>(type))
    value = DenseElementsAttr::get(shaped, number);
  return arith::ConstantOp::create(builder, loc, value);
}

static void expandClass(IRRewriter &rewriter, Operation *op) {
  rewriter.setInsertionPoint(op);
  Location loc = op->getLoc();
  Value value = op->getOperand(0);
  const llvm::fltSemantics &semantics =
      cast<FloatType>(getElementTypeOrSelf(value)).getFloatSemantics();
  auto compare = [&](arith::CmpFPredicate predicate,
                     const llvm::APFloat &number) -> Value {
    Value magnitude = math::AbsFOp::create(rewriter, loc, value);
    return arith::CmpFOp::create(rewriter, loc, predicate, magnitude,
                                 makeNumber(rewriter, loc, value, number));
  };
  llvm::APFloat infinity = llvm::APFloat::getInf(semantics);
  if (isa<math::IsInfOp>(op)) {
    rewriter.replaceOp(op, compare(arith::CmpFPredicate::OEQ, infinity));
    return;
  }
  Value isFinite = compare(arith::CmpFPredicate::OLT, infinity);
  Value isLarge = compare(arith::CmpFPredicate::OGE,
                          llvm::APFloat::getSmallestNormalized(semantics));
  rewriter.replaceOpWithNewOp<arith::AndIOp>(op, isFinite, isLarge);
}

namespace {
class ExpandClassesPass
    : public kernel::impl::ExpandClassesPassBase<ExpandClassesPass> {
public:
  using ExpandClassesPassBase::ExpandClassesPassBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation().walk([&](Operation *op) {
      if (!isa<math::IsInfOp, math::IsNormalOp>(op))
        return;
      expandClass(rewriter, op);
      ++numExpanded;
    });
  }
};
} // namespace
