//===- StepReduction.cpp - Simpler operations for steps -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepReduction.h"

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Reducer/ReductionPatternInterface.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// All ones; null for a type that has no constants.
static Value makeConstant(RewriterBase &rewriter, Location loc, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.getElementType().isIntOrFloat() ||
      tensor.getElementType().isUnsignedInteger())
    return nullptr;
  TypedAttr one = rewriter.getOneAttr(tensor.getElementType());
  return one ? arith::ConstantOp::create(rewriter, loc,
                                         DenseElementsAttr::get(tensor, one))
             : nullptr;
}

/// An operand of this type, or a constant.
static Value findSimpler(RewriterBase &rewriter, Operation *op,
                         ValueRange operands, Type type) {
  for (Value operand : operands)
    if (operand.getType() == type)
      return operand;
  return makeConstant(rewriter, op->getLoc(), type);
}

static LogicalResult replaceBySimpler(RewriterBase &rewriter, Operation *op,
                                      ValueRange operands) {
  SmallVector<Value> values;
  for (Type type : op->getResultTypes()) {
    values.push_back(findSimpler(rewriter, op, operands, type));
    if (!values.back())
      return failure();
  }
  rewriter.replaceOp(op, values);
  return success();
}

namespace {
/// What a node computes.
struct SimplifyNode : OpRewritePattern<NodeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(NodeOp node,
                                PatternRewriter &rewriter) const override {
    return replaceBySimpler(rewriter, node, node->getOperands());
  }
};

/// What a collective brings. The collective is dead then.
struct SimplifyWait : OpRewritePattern<WaitOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(WaitOp wait,
                                PatternRewriter &rewriter) const override {
    Operation *collective = wait->getOperand(0).getDefiningOp();
    if (!collective)
      return failure();
    if (failed(replaceBySimpler(rewriter, wait, collective->getOperands())))
      return failure();
    rewriter.eraseOp(collective);
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

/// The role with the number that its argument has when `dropped` is gone; null
/// if that is the argument.
static RoleAttr renumber(RoleAttr role, unsigned dropped) {
  if (!role || !role.namesArgument() || role.getArgument() < dropped)
    return role;
  if (role.getArgument() == dropped)
    return nullptr;
  return RoleAttr::get(role.getContext(), role.getKind(),
                       role.getArgument() - 1);
}

static bool isReferred(func::FuncOp func, unsigned argument) {
  for (unsigned i = 0; i != func.getNumResults(); ++i)
    if (auto role = func.getResultAttrOfType<RoleAttr>(i, kRoleAttrName);
        role && role.namesArgument() && role.getArgument() == argument)
      return true;
  return false;
}

namespace {
/// The last argument that nobody reads and no role names.
struct DropArgument : OpRewritePattern<func::FuncOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(func::FuncOp func,
                                PatternRewriter &rewriter) const override {
    if (func.isExternal() || func.getNumArguments() < 2)
      return failure();
    for (unsigned i = func.getNumArguments(); i-- != 0;) {
      if (!func.getArgument(i).use_empty() || isReferred(func, i))
        continue;
      rewriter.modifyOpInPlace(func, [&] {
        for (unsigned k = 0; k != func.getNumResults(); ++k)
          if (auto role = func.getResultAttrOfType<RoleAttr>(k, kRoleAttrName))
            func.setResultAttr(k, kRoleAttrName, renumber(role, i));
        (void)func.eraseArgument(i);
      });
      return success();
    }
    return failure();
  }
};

/// The last result that is an argument or a constant, but for the only one.
struct DropResult : OpRewritePattern<func::FuncOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(func::FuncOp func,
                                PatternRewriter &rewriter) const override {
    if (func.isExternal() || !func.getBody().hasOneBlock() ||
        func.getNumResults() < 2)
      return failure();
    Operation *end = func.getBody().front().getTerminator();
    for (unsigned i = func.getNumResults(); i-- != 0;) {
      Operation *source = end->getOperand(i).getDefiningOp();
      if (source && !source->hasTrait<OpTrait::ConstantLike>())
        continue;
      rewriter.modifyOpInPlace(func, [&] { (void)func.eraseResult(i); });
      rewriter.modifyOpInPlace(end, [&] { end->eraseOperand(i); });
      return success();
    }
    return failure();
  }
};

class StepReduction : public DialectReductionPatternInterface {
public:
  explicit StepReduction(Dialect *dialect)
      : DialectReductionPatternInterface(dialect) {}

  void populateReductionPatterns(RewritePatternSet &patterns) const override {
    patterns.add<SimplifyNode, SimplifyWait, DropArgument, DropResult>(
        patterns.getContext());
  }
};
} // namespace

void regather::registerStepReduction(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *, TGDialect *dialect) {
    dialect->addInterfaces<StepReduction>();
  });
}
