//===- LinalgRules.cpp - Rules of structured operations -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BodyLinearity.h"

#include "RuleParts.h"
#include "regather/Dialect/TG/Nodes/ZeroTensors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::sharding;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

namespace {
/// How an output is combined over the reduction loops.
struct Combiner {
  FactorKind kind = FactorKind::Whole;
  /// What is combined with the accumulator; does not depend on it.
  Value element;
};
} // namespace

static FactorKind getKind(Operation *combiner) {
  return llvm::TypeSwitch<Operation *, FactorKind>(combiner)
      .Case<arith::AddFOp, arith::AddIOp>(
          [](Operation *) { return FactorKind::Sum; })
      .Case<arith::MaximumFOp, arith::MaxSIOp>(
          [](Operation *) { return FactorKind::Max; })
      .Case<arith::MinimumFOp, arith::MinSIOp>(
          [](Operation *) { return FactorKind::Min; })
      .Default(FactorKind::Whole);
}

/// Recognises `yield combine(accumulator, element)`, where the element does not
/// depend on what is carried from one iteration to the next.
static Combiner getCombiner(BlockArgument accumulator, Value yielded,
                            const llvm::SmallBitVector &carried,
                            const BodyLinearity &linearity) {
  Operation *op = yielded.getDefiningOp();
  if (!op || op->getNumOperands() != 2 ||
      op->getBlock() != accumulator.getOwner())
    return {};
  bool isFirst = op->getOperand(0) == accumulator;
  if (!isFirst && op->getOperand(1) != accumulator)
    return {};
  Value element = op->getOperand(isFirst ? 1 : 0);
  if (linearity.dependsOn(element, carried))
    return {};
  return {getKind(op), element};
}

//===----------------------------------------------------------------------===//
// Rule
//===----------------------------------------------------------------------===//

namespace {
/// Puts together the rule of one operation: each loop is a factor.
class LinalgRuleBuilder {
public:
  explicit LinalgRuleBuilder(linalg::LinalgOp op);
  ShardingRule build();

private:
  void addLoops();
  void setOperands();
  void addLinearSets();
  TensorFactors getFactors(OpOperand &operand);
  DimFactors getDimFactors(AffineExpr expr, int64_t size);
  Combiner getCombinerOf(OpOperand &init);
  LinearSets getLinearSets(OpOperand &init);

  linalg::LinalgOp op;
  Block &body;
  BodyLinearity linearity;
  /// The arguments of the body that are carried through reduction loops.
  llvm::SmallBitVector carried;
  SmallVector<int64_t> ranges;
  bool hasReductions;
  ShardingRule rule;
};
} // namespace

LinalgRuleBuilder::LinalgRuleBuilder(linalg::LinalgOp op)
    : op(op), body(*op.getBlock()), linearity(body),
      carried(body.getNumArguments()), ranges(op.getStaticLoopRanges()),
      hasReductions(op.getNumReductionLoops() > 0) {
  for (BlockArgument init : op.getRegionOutputArgs())
    carried.set(init.getArgNumber());
}

Combiner LinalgRuleBuilder::getCombinerOf(OpOperand &init) {
  return getCombiner(op.getMatchingBlockArgument(&init),
                     op.getMatchingYieldValue(&init)->get(), carried,
                     linearity);
}

/// Loop i becomes factor i.
void LinalgRuleBuilder::addLoops() {
  // What all outputs are over the reduction loops.
  std::optional<FactorKind> kind;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    FactorKind own = getCombinerOf(init).kind;
    // The initial value would count once on each rank.
    if (own == FactorKind::Sum && !isZero(init.get()))
      own = FactorKind::Whole;
    kind = !kind || *kind == own ? own : FactorKind::Whole;
  }
  FactorKind reduction = kind.value_or(FactorKind::Whole);
  for (auto [size, iterator] : llvm::zip(ranges, op.getIteratorTypesArray()))
    rule.addFactor(size, iterator == utils::IteratorType::parallel
                             ? FactorKind::Parallel
                             : reduction);
  // A position of a part is not one of the whole.
  body.walk([&](linalg::IndexOp index) {
    rule.factors[index.getDim()].kind = FactorKind::Whole;
  });
}

/// The loop that runs over a dimension. Where several do, as over the window of
/// a convolution, they stay whole, and so does the dimension.
DimFactors LinalgRuleBuilder::getDimFactors(AffineExpr expr, int64_t size) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr);
      dim && ranges[dim.getPosition()] == size) {
    if (size == 1)
      return {};
    return {dim.getPosition()};
  }
  expr.walk([&](AffineExpr inner) {
    if (auto dim = dyn_cast<AffineDimExpr>(inner))
      rule.factors[dim.getPosition()].kind = FactorKind::Whole;
  });
  return addDim(rule, size, FactorKind::Whole);
}

TensorFactors LinalgRuleBuilder::getFactors(OpOperand &operand) {
  TensorFactors factors;
  auto type = dyn_cast<RankedTensorType>(operand.get().getType());
  if (!type)
    return factors;
  llvm::SmallBitVector seen(ranges.size());
  AffineMap map = op.getMatchingIndexingMap(&operand);
  for (auto [expr, size] : llvm::zip(map.getResults(), type.getShape())) {
    factors.push_back(getDimFactors(expr, size));
    for (unsigned factor : factors.back()) {
      // Of a diagonal, a part is not a part of both dimensions.
      if (factor < ranges.size() && seen.test(factor))
        rule.factors[factor].kind = FactorKind::Whole;
      if (factor < ranges.size())
        seen.set(factor);
    }
  }
  return factors;
}

void LinalgRuleBuilder::setOperands() {
  for (OpOperand &operand : op->getOpOperands())
    rule.operands.push_back(getFactors(operand));
  for (OpOperand &init : op.getDpsInitsMutable())
    rule.results.push_back(rule.operands[init.getOperandNumber()]);
  rule.results.resize(op->getNumResults());
}

/// The sets in which one output is linear.
LinearSets LinalgRuleBuilder::getLinearSets(OpOperand &init) {
  if (!hasReductions)
    return linearity.getSets(op.getMatchingYieldValue(&init)->get());
  Combiner combiner = getCombinerOf(init);
  if (combiner.kind != FactorKind::Sum)
    return {};
  LinearSets sets;
  for (llvm::SmallBitVector set : linearity.getSets(combiner.element)) {
    if (isZero(init.get()))
      sets.push_back(set);
    set.set(op.getMatchingBlockArgument(&init).getArgNumber());
    sets.push_back(set);
  }
  return sets;
}

/// Arguments of the body are the operands, in order.
void LinalgRuleBuilder::addLinearSets() {
  std::optional<LinearSets> sets;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    LinearSets own = getLinearSets(init);
    sets = sets ? intersect(*sets, own) : own;
  }
  if (sets && body.getNumArguments() == op->getNumOperands())
    rule.linear.assign(sets->begin(), sets->end());
}

/// True if the body reads tensors that are no operands.
static bool capturesTensors(linalg::LinalgOp op) {
  WalkResult result = op->walk([&](Operation *inner) {
    if (inner == op)
      return WalkResult::advance();
    return llvm::any_of(inner->getOperandTypes(), llvm::IsaPred<ShapedType>)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return result.wasInterrupted();
}

ShardingRule LinalgRuleBuilder::build() {
  addLoops();
  setOperands();
  addLinearSets();
  return finishRule(std::move(rule), op);
}

//===----------------------------------------------------------------------===//
// External model
//===----------------------------------------------------------------------===//

namespace {
struct LinalgModel : ShardingRuleOpInterface::FallbackModel<LinalgModel> {
  ShardingRule getShardingRule(Operation *op) const {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    if (!linalgOp.hasPureTensorSemantics() || hasDynamicShape(op) ||
        capturesTensors(linalgOp))
      return ShardingRule::getWhole(op);
    return LinalgRuleBuilder(linalgOp).build();
  }
  Operation *buildPart(Operation *op, OpBuilder &builder, ValueRange operands,
                       TypeRange resultTypes) const {
    return mlir::clone(builder, op, resultTypes, operands);
  }
};
} // namespace

void regather::tg::sharding::registerLinalgModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    forEachOperation(context, linalg::LinalgDialect::getDialectNamespace(),
                     [](RegisteredOperationName name) {
                       if (name.hasInterface<linalg::LinalgOp>())
                         name.attachInterface<LinalgModel>();
                     });
  });
}
