//===- ArithRules.cpp - Rules of constants and elementwise ops ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuleParts.h"

#include "regather/Dialect/TG/Nodes/ZeroTensors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::sharding;

//===----------------------------------------------------------------------===//
// Elementwise operations
//===----------------------------------------------------------------------===//

static void addLinearSets(ShardingRule &rule, Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<arith::MulFOp, arith::MulIOp>([&](Operation *) {
        rule.addLinear(0);
        rule.addLinear(1);
      })
      .Case<arith::AddFOp, arith::AddIOp, arith::SubFOp, arith::SubIOp>(
          [&](Operation *) { rule.addLinear({0, 1}); })
      .Case<arith::DivFOp, arith::NegFOp, arith::ExtFOp>(
          [&](Operation *) { rule.addLinear(0); })
      .Case<arith::SelectOp>([&](Operation *) {
        rule.addLinear({1, 2});
        if (isZero(op->getOperand(2)))
          rule.addLinear(1);
        if (isZero(op->getOperand(1)))
          rule.addLinear(2);
      });
}

namespace {
struct ElementwiseModel
    : ShardingRuleOpInterface::FallbackModel<ElementwiseModel> {
  ShardingRule getShardingRule(Operation *op) const {
    auto type = op->getNumResults() == 1
                    ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                    : nullptr;
    if (!type || hasDynamicShape(op))
      return ShardingRule::getWhole(op);
    ShardingRule rule;
    TensorFactors factors = addDims(rule, type.getShape());
    for (Type operand : op->getOperandTypes())
      rule.operands.push_back(isa<RankedTensorType>(operand) ? factors
                                                             : TensorFactors());
    rule.results.push_back(factors);
    addLinearSets(rule, op);
    return finishRule(std::move(rule), op);
  }
  Operation *buildPart(Operation *op, OpBuilder &builder, ValueRange operands,
                       TypeRange resultTypes) const {
    return mlir::clone(builder, op, resultTypes, operands);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

namespace {
struct ConstantModel
    : ShardingRuleOpInterface::ExternalModel<ConstantModel, arith::ConstantOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto constant = cast<arith::ConstantOp>(op);
    auto type = dyn_cast<RankedTensorType>(constant.getType());
    if (!type || !isa<SplatElementsAttr>(constant.getValue()))
      return ShardingRule::getWhole(op);
    ShardingRule rule;
    rule.results.push_back(addDims(rule, type.getShape()));
    return finishRule(std::move(rule), op);
  }
  Operation *buildPart(Operation *op, OpBuilder &builder, ValueRange operands,
                       TypeRange resultTypes) const {
    auto part = cast<arith::ConstantOp>(
        mlir::clone(builder, op, resultTypes, operands));
    if (auto splat = dyn_cast<SplatElementsAttr>(part.getValue()))
      part.setValueAttr(
          splat.resizeSplat(cast<RankedTensorType>(part.getType())));
    return part;
  }
};
} // namespace

/// Attaches to all elementwise operations of a dialect.
static void attachElementwise(MLIRContext *context, StringRef dialect) {
  forEachOperation(context, dialect, [](RegisteredOperationName name) {
    if (name.hasTrait<OpTrait::Elementwise>())
      name.attachInterface<ElementwiseModel>();
  });
}

void regather::tg::sharding::registerArithModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    arith::ConstantOp::attachInterface<ConstantModel>(*context);
    attachElementwise(context, arith::ArithDialect::getDialectNamespace());
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    attachElementwise(context, math::MathDialect::getDialectNamespace());
  });
}
