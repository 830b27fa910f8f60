//===- RuleParts.cpp - What rules are put together from -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuleParts.h"

#include "regather/Dialect/TG/Sharding/ShardingModels.h"
#include "regather/Dialect/TG/Targets/NodeTargets.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"
#include <numeric>

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::sharding;

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

DimFactors regather::tg::sharding::addDim(ShardingRule &rule, int64_t size,
                                          FactorKind kind) {
  if (size == 1)
    return {};
  return {rule.addFactor(size, kind)};
}

TensorFactors regather::tg::sharding::addDims(ShardingRule &rule,
                                              ArrayRef<int64_t> shape,
                                              FactorKind kind) {
  TensorFactors factors;
  for (int64_t size : shape)
    factors.push_back(addDim(rule, size, kind));
  return factors;
}

TensorFactors regather::tg::sharding::getBroadcast(ShardingRule &rule,
                                                   const TensorFactors &factors,
                                                   ArrayRef<int64_t> shape,
                                                   ArrayRef<int64_t> own) {
  if (own.size() > shape.size())
    return addDims(rule, own, FactorKind::Whole);
  TensorFactors result;
  size_t skipped = shape.size() - own.size();
  for (auto [dim, size] : llvm::enumerate(own))
    result.push_back(size == shape[skipped + dim]
                         ? factors[skipped + dim]
                         : addDim(rule, size, FactorKind::Whole));
  return result;
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

namespace {
/// Walks over the dimensions of a shape from the outermost to the innermost,
/// and takes them apart.
class ShapeCutter {
public:
  ShapeCutter(ArrayRef<int64_t> shape, TensorFactors &factors)
      : shape(shape), factors(factors) {
    factors.resize(shape.size());
    next = -1;
    advance();
  }
  bool isDone() const { return next >= static_cast<int64_t>(shape.size()); }
  /// What is left of the current dimension.
  int64_t getRest() const { return rest; }

  /// Takes `factor`, of this size, from the current dimension.
  void take(unsigned factor, int64_t size) {
    factors[next].push_back(factor);
    rest /= size;
    if (rest == 1)
      advance();
  }
  /// Takes the rest of the current dimension as a factor of kind Whole, and
  /// returns its size.
  int64_t takeWhole(ShardingRule &rule) {
    int64_t size = rest;
    take(rule.addFactor(size, FactorKind::Whole), size);
    return size;
  }

private:
  void advance() {
    do
      ++next;
    while (!isDone() && shape[next] == 1);
    rest = isDone() ? 1 : shape[next];
  }

  ArrayRef<int64_t> shape;
  TensorFactors &factors;
  int64_t next, rest = 1;
};
} // namespace

ViewFactors regather::tg::sharding::addView(ShardingRule &rule,
                                            ArrayRef<int64_t> from,
                                            ArrayRef<int64_t> to) {
  int64_t numElements = ShapedType::getNumElements(from);
  // Of an empty tensor, nothing is worth splitting.
  if (numElements == 0 || numElements != ShapedType::getNumElements(to))
    return {addDims(rule, from, FactorKind::Whole),
            addDims(rule, to, FactorKind::Whole)};
  ViewFactors view;
  ShapeCutter source(from, view.from), target(to, view.to);
  // The parts that are left always have the same number of elements.
  while (!source.isDone() && !target.isDone()) {
    int64_t common = std::gcd(source.getRest(), target.getRest());
    if (common > 1) {
      unsigned factor = rule.addFactor(common);
      source.take(factor, common);
      target.take(factor, common);
      continue;
    }
    // Up to where as many elements have been passed on both sides.
    int64_t passedInSource = source.takeWhole(rule);
    int64_t passedInTarget = target.takeWhole(rule);
    while (passedInSource != passedInTarget)
      if (passedInSource < passedInTarget)
        passedInSource *= source.takeWhole(rule);
      else
        passedInTarget *= target.takeWhole(rule);
  }
  return view;
}

//===----------------------------------------------------------------------===//
// Final form
//===----------------------------------------------------------------------===//

bool regather::tg::sharding::hasDynamicShape(Operation *op) {
  auto isDynamic = [](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return shaped && !shaped.hasStaticShape();
  };
  return llvm::any_of(op->getOperandTypes(), isDynamic) ||
         llvm::any_of(op->getResultTypes(), isDynamic);
}

/// True if converting a sum from one type to the other is the sum of what its
/// parts are converted to.
static bool isExact(Type from, Type to) {
  from = getElementTypeOrSelf(from);
  to = getElementTypeOrSelf(to);
  if (from == to)
    return !from.isInteger(1);
  auto fromFloat = dyn_cast<FloatType>(from), toFloat = dyn_cast<FloatType>(to);
  return fromFloat && toFloat && fromFloat.getWidth() < toFloat.getWidth();
}

static bool isLinearExactly(Operation *op, const llvm::SmallBitVector &set) {
  for (unsigned operand : set.set_bits()) {
    RankedTensorType from = getRuledTensor(op->getOperand(operand).getType());
    if (!from)
      return false;
    for (Type result : op->getResultTypes())
      if (RankedTensorType to = getRuledTensor(result);
          to && !isExact(from, to))
        return false;
  }
  return true;
}

/// True if results of this type can be combined over a factor of this kind.
static bool canReduce(FactorKind kind, Type type) {
  Type element = getElementTypeOrSelf(type);
  return !element.isInteger(1) &&
         (kind != FactorKind::Mean || isa<FloatType>(element));
}

static void finishKinds(ShardingRule &rule, Operation *op) {
  // Of each factor: whether a result lacks it, and whether one of these cannot
  // be reduced over it.
  llvm::SmallBitVector lacked(rule.factors.size());
  llvm::SmallBitVector irreducible(rule.factors.size());
  for (auto [number, result] : llvm::enumerate(rule.results)) {
    Type type = op->getResult(number).getType();
    if (!isa<RankedTensorType>(type) ||
        llvm::is_contained(rule.unusable, number))
      continue;
    llvm::SmallBitVector missing(rule.factors.size(), true);
    for (const DimFactors &dim : result)
      for (unsigned factor : dim)
        missing.reset(factor);
    lacked |= missing;
    for (unsigned i : missing.set_bits())
      if (!canReduce(rule.factors[i].kind, type))
        irreducible.set(i);
  }
  for (auto [i, factor] : llvm::enumerate(rule.factors)) {
    if (factor.kind == FactorKind::Whole)
      continue;
    if (!lacked.test(i))
      factor.kind = FactorKind::Parallel;
    else if (factor.kind == FactorKind::Parallel || irreducible.test(i))
      factor.kind = FactorKind::Whole;
  }
}

ShardingRule regather::tg::sharding::finishRule(ShardingRule rule,
                                                Operation *op) {
  if (rule.operands.size() != op->getNumOperands() ||
      rule.results.size() != op->getNumResults())
    return ShardingRule::getWhole(op);
  finishKinds(rule, op);
  llvm::erase_if(rule.linear, [&](const llvm::SmallBitVector &set) {
    return !isLinearExactly(op, set);
  });
  return succeeded(rule.verify(op)) ? rule : ShardingRule::getWhole(op);
}

//===----------------------------------------------------------------------===//
// External models
//===----------------------------------------------------------------------===//

void regather::tg::sharding::forEachOperation(
    MLIRContext *context, StringRef dialect,
    function_ref<void(RegisteredOperationName)> fn) {
  // The context's own search by dialect misses operations where the names of
  // other dialects follow.
  for (RegisteredOperationName name : context->getRegisteredOperations())
    if (name.getDialectNamespace() == dialect)
      fn(name);
}

void regather::tg::registerShardingExternalModels(DialectRegistry &registry) {
  registerNodeModels(registry);
  registerLinalgModels(registry);
  registerCollectiveModels(registry);
  registerFlatModels(registry);
  registerTensorModels(registry);
  registerArithModels(registry);
}
