//===- Gradients.cpp - Gradients of a step and when they are ready --------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gradients.h"

#include "regather/Dialect/TG/Targets/NodeTargets.h"

#include "llvm/ADT/IntEqClasses.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

//===----------------------------------------------------------------------===//
// What the optimizer combines
//===----------------------------------------------------------------------===//

namespace {
/// Partitions the tensors of the optimizer: operands and results of one
/// operation that have the same shape belong together.
class OptimizerClasses {
public:
  explicit OptimizerClasses(const Step &step);

  /// The parameter that `value` belongs to, of the same shape, and whether it
  /// is sharded; of several, the first, and whether all are, and alike.
  std::optional<std::pair<unsigned, bool>> getParameter(Value value) const;

private:
  void addOperation(Operation *op);
  unsigned getNumber(Value value);

  llvm::DenseMap<Value, unsigned> numbers;
  std::vector<std::pair<unsigned, unsigned>> equal;
  llvm::IntEqClasses classes;
  /// The first parameter of each class, and whether all are sharded alike.
  llvm::DenseMap<unsigned, std::pair<unsigned, bool>> parameters;
};
} // namespace

OptimizerClasses::OptimizerClasses(const Step &step) {
  for (Operation *op : step.operations)
    if (getPhase(op) == Phase::Optimizer)
      addOperation(op);
  classes.grow(numbers.size());
  for (auto [a, b] : equal)
    classes.join(a, b);
  for (auto [number, parameter] : llvm::enumerate(step.parameters)) {
    auto it = numbers.find(step.block->getArgument(parameter.argument));
    if (it == numbers.end())
      continue;
    auto entry =
        parameters.try_emplace(classes.findLeader(it->second), number, true);
    auto &[first, isSharded] = entry.first->second;
    isSharded &=
        parameter.sharded && parameter.dim == step.parameters[first].dim;
  }
}

unsigned OptimizerClasses::getNumber(Value value) {
  return numbers.try_emplace(value, numbers.size()).first->second;
}

void OptimizerClasses::addOperation(Operation *op) {
  SmallVector<std::pair<ArrayRef<int64_t>, unsigned>, 4> shapes;
  auto add = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || type.getRank() == 0)
      return;
    unsigned number = getNumber(value);
    auto it = llvm::find_if(
        shapes, [&](const auto &one) { return one.first == type.getShape(); });
    if (it == shapes.end())
      shapes.push_back({type.getShape(), number});
    else
      equal.push_back({it->second, number});
  };
  llvm::for_each(op->getOperands(), add);
  llvm::for_each(op->getResults(), add);
}

std::optional<std::pair<unsigned, bool>>
OptimizerClasses::getParameter(Value value) const {
  auto it = numbers.find(value);
  if (it == numbers.end())
    return std::nullopt;
  auto parameter = parameters.find(classes.findLeader(it->second));
  if (parameter == parameters.end())
    return std::nullopt;
  return parameter->second;
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// The value to reduce so that `gradient` can be computed from its shards: not
/// the result of a cast that rounds, which a partial sum cannot go through, but
/// its operand.
static Value skipRounding(Value gradient) {
  while (Operation *op = gradient.getDefiningOp()) {
    auto interface = dyn_cast<ShardingRuleOpInterface>(op);
    if (!interface || op->getNumOperands() != 1 || op->getNumResults() != 1)
      return gradient;
    auto from = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
    auto to = dyn_cast<RankedTensorType>(gradient.getType());
    if (!from || !to || from.getShape() != to.getShape())
      return gradient;
    ShardingRule rule = interface.getShardingRule();
    if (!rule.linear.empty() || rule.isWhole() ||
        rule.operands.front() != rule.results.front())
      return gradient;
    gradient = op->getOperand(0);
  }
  return gradient;
}

/// Whether anything but the optimizer, the end of the step and what rounds
/// `from` to `to` reads one of these values or one in between.
static bool isReadElsewhere(Value from, Value to) {
  Operation *rounding = nullptr;
  for (Value value = to;; value = rounding->getOperand(0)) {
    for (Operation *user : value.getUsers())
      if (user != rounding && !user->hasTrait<OpTrait::IsTerminator>() &&
          getPhase(user) != Phase::Optimizer)
        return true;
    if (value == from)
      return false;
    rounding = value.getDefiningOp();
  }
}

Value regather::tg::spmd::skipCasts(Value gradient,
                                    SmallVectorImpl<Operation *> &casts) {
  while (auto node = gradient.getDefiningOp<NodeOp>()) {
    if (node.getTarget() != getName(NodeTarget::AtenToCopyDefault) ||
        node.getNumOperands() != 1)
      break;
    Value operand = node.getOperand(0);
    auto from = dyn_cast<RankedTensorType>(operand.getType());
    auto to = dyn_cast<RankedTensorType>(gradient.getType());
    if (!from || !to || from.getShape() != to.getShape() ||
        !isa<FloatType>(from.getElementType()) ||
        !isa<FloatType>(to.getElementType()) ||
        from.getElementTypeBitWidth() <= to.getElementTypeBitWidth())
      break;
    casts.push_back(node);
    gradient = operand;
  }
  std::reverse(casts.begin(), casts.end());
  return gradient;
}

namespace {
/// Collects gradients, each value once.
class GradientCollector {
public:
  GradientCollector(const Step &step, ArrayRef<Unit> units);

  void add(Value value, unsigned parameter, bool sharded);
  void addFlat(Value value, unsigned parameter);
  void finish(GradientPlan &plan);

private:
  /// The reductions of the unit wait for `value`.
  void awaitValue(Value value, unsigned parameter);
  /// Registration order; the order of the step for gradients of one parameter.
  std::tuple<unsigned, unsigned, unsigned> getOrder(const Gradient &gradient);

  const Step &step;
  std::vector<unsigned> unitOfParameter;
  llvm::DenseSet<Value> known, reduced;
  std::vector<SmallVector<Gradient>> ofUnit;
  llvm::DenseMap<unsigned, FlatGradient> flat;
  /// The last operation that computes a gradient of each unit.
  std::vector<Operation *> last;
};
} // namespace

GradientCollector::GradientCollector(const Step &step, ArrayRef<Unit> units)
    : step(step), unitOfParameter(step.parameters.size()), ofUnit(units.size()),
      last(units.size()) {
  for (auto [number, unit] : llvm::enumerate(units))
    for (unsigned parameter : unit.parameters)
      unitOfParameter[parameter] = number;
}

void GradientCollector::add(Value value, unsigned parameter, bool sharded) {
  reduced.insert(value);
  Value source = skipRounding(value);
  // Backward reads the gradient of the rank's own batch, which stays as it is.
  bool hasLocalReaders = step.hasOwnBatches && isReadElsewhere(source, value);
  if (hasLocalReaders)
    hasLocalReaders = isReadElsewhere(value, value);
  else
    value = source;
  // A gradient that no operation of the step computes is skipped.
  if (!value.getDefiningOp() || !known.insert(value).second)
    return;
  ofUnit[unitOfParameter[parameter]].push_back(
      {value, parameter, sharded, hasLocalReaders});
  awaitValue(value, parameter);
}

void GradientCollector::addFlat(Value value, unsigned parameter) {
  FlatGradient &gradient = flat[parameter];
  gradient.value = skipCasts(value, gradient.casts);
  if (gradient.value.getDefiningOp())
    awaitValue(gradient.value, parameter);
}

void GradientCollector::awaitValue(Value value, unsigned parameter) {
  Operation *op = value.getDefiningOp();
  Operation *&latest = last[unitOfParameter[parameter]];
  if (!latest || step.positions.lookup(latest) < step.positions.lookup(op))
    latest = op;
}

std::tuple<unsigned, unsigned, unsigned>
GradientCollector::getOrder(const Gradient &gradient) {
  return {gradient.parameter,
          step.positions.lookup(gradient.value.getDefiningOp()),
          cast<OpResult>(gradient.value).getResultNumber()};
}

void GradientCollector::finish(GradientPlan &plan) {
  for (auto [number, gradients] : llvm::enumerate(ofUnit)) {
    llvm::sort(gradients, [&](const Gradient &a, const Gradient &b) {
      return getOrder(a) < getOrder(b);
    });
    if (last[number])
      plan.readyAfter[last[number]].push_back(number);
  }
  plan.ofUnit = std::move(ofUnit);
  plan.flat = std::move(flat);
  plan.reduced = std::move(reduced);
}

GradientPlan regather::tg::spmd::planGradients(const Step &step,
                                               ArrayRef<Unit> units) {
  GradientPlan plan;
  GradientCollector collector(step, units);
  for (auto [number, parameter] : llvm::enumerate(step.parameters))
    if (parameter.gradient && parameter.flat)
      collector.addFlat(step.getTerminator()->getOperand(*parameter.gradient),
                        number);
    else if (parameter.gradient)
      collector.add(step.getTerminator()->getOperand(*parameter.gradient),
                    number, parameter.sharded);
  OptimizerClasses classes(step);
  for (Operation *op : step.operations) {
    if (getPhase(op) != Phase::Optimizer)
      continue;
    for (Value operand : op->getOperands()) {
      Operation *source = operand.getDefiningOp();
      if (!source || getPhase(source) != Phase::Backward)
        continue;
      if (auto parameter = classes.getParameter(operand))
        collector.add(operand, parameter->first, parameter->second);
    }
  }
  collector.finish(plan);
  for (BlockArgument argument : step.block->getArguments()) {
    RoleAttr role = step.getArgumentRole(argument.getArgNumber());
    if (!role || role.getKind() != RoleKind::OptimizerState)
      continue;
    if (auto parameter = classes.getParameter(argument);
        parameter && parameter->second)
      plan.shardedStates.push_back({argument.getArgNumber(), parameter->first});
  }
  return plan;
}
