//===- PyTorchGraph.cpp - A step as PyTorch's partitioner sees it ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorchGraph.h"

#include "regather/Dialect/TG/Nodes/RandomTargets.h"
#include "regather/Dialect/TG/Steps/Policies.h"
#include "regather/Dialect/TG/Targets/NodeTargets.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::partition;
using Kind = JointNode::Kind;
using Mark = JointNode::Mark;

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

static void classify(JointNode &node, std::optional<NodeOperator> op) {
  if (!op)
    return;
  node.isConcatenation = op == NodeOperator::AtenCat;
  PyTorchSet set = getInfo(*op).pytorch;
  if (set == PyTorchSet::Unlisted)
    return;
  node.isFusible = true;
  node.isRecomputable = set != PyTorchSet::Random;
  node.isView = set == PyTorchSet::View;
}

/// Operators that return a list, even of one tensor.
static bool returnsList(NodeOp node, std::optional<NodeOperator> op) {
  return node.getNumResults() != 1 || op == NodeOperator::AtenSplit ||
         op == NodeOperator::AtenSplitWithSizes ||
         op == NodeOperator::AtenUnbind;
}

static bool isCollective(NodeOp node) {
  return getOperatorClass(node.getTarget()) == OperatorClass::Communication;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

namespace {
class GraphBuilder {
public:
  GraphBuilder(func::FuncOp step, const StepGraph &graph)
      : step(step), graph(graph) {}

  FailureOr<PyTorchGraph> build();

private:
  void addArguments();
  LogicalResult addOp(Operation *op);
  void addNode(NodeOp op);
  void addCollective(CollectiveOpInterface op);
  void addWait(WaitOp op);
  void addResults();

  bool isTangent(NodeOp op) const;
  Mark getMark(Operation *op) const;
  void addInput(JointNode &node, Value input) const;
  int64_t getArgumentBytes(NodeOp op) const;
  uint32_t append(JointNode node, Value value);
  /// Selects one of the results of the node `list`.
  uint32_t appendItem(uint32_t list, Value value);

  func::FuncOp step;
  const StepGraph &graph;
  PyTorchGraph result;
  /// The nodes of values. Values without one are made of random state alone.
  llvm::DenseMap<Value, uint32_t> numbers;
};
} // namespace

uint32_t GraphBuilder::append(JointNode node, Value value) {
  result.nodes.push_back(std::move(node));
  result.values.push_back(value);
  return result.nodes.size() - 1;
}

void GraphBuilder::addInput(JointNode &node, Value input) const {
  auto it = numbers.find(input);
  if (it != numbers.end())
    node.inputs.push_back(it->second);
}

static std::optional<RoleKind> getArgumentRole(func::FuncOp step, unsigned i) {
  auto role = step.getArgAttrOfType<RoleAttr>(i, kRoleAttrName);
  if (!role)
    return std::nullopt;
  return role.getKind();
}

void GraphBuilder::addArguments() {
  for (BlockArgument argument : step.getArguments()) {
    std::optional<RoleKind> role =
        getArgumentRole(step, argument.getArgNumber());
    if (role == RoleKind::Rng)
      continue;
    JointNode node;
    node.kind = Kind::Argument;
    node.bytes = getValueBytes(argument);
    node.isFree = role && *role != RoleKind::Input;
    numbers[argument] = append(std::move(node), argument);
  }
}

/// True for the gradient of the loss, which backward makes, and which depends
/// only on the shape of what forward returns.
bool GraphBuilder::isTangent(NodeOp op) const {
  std::optional<NodeOperator> called = findNodeOperator(op.getTarget());
  if ((called != NodeOperator::AtenFullLike &&
       called != NodeOperator::AtenOnesLike) ||
      op.getNumOperands() != 1 || !graph.isBackward(op))
    return false;
  Value like = op.getOperand(0);
  return graph.isForwardValue(like) &&
         llvm::any_of(like.getUsers(), [](Operation *user) {
           return isa<func::ReturnOp>(user);
         });
}

/// What cannot be repeated is saved. Preferences to save mean nothing to
/// PyTorch; those to recompute are orders.
Mark GraphBuilder::getMark(Operation *op) const {
  if (!isRepeatable(op))
    return Mark::Save;
  std::optional<Policy> policy = getPolicy(op);
  if (policy == Policy::MustRecompute || policy == Policy::PreferRecompute)
    return Mark::Recompute;
  if (policy == Policy::MustSave || policy == Policy::Offload)
    return Mark::Save;
  auto node = dyn_cast<NodeOp>(op);
  return !node || isCollective(node) ? Mark::Save : Mark::None;
}

/// As in PyTorch, tensors inside of lists and named arguments do not count.
int64_t GraphBuilder::getArgumentBytes(NodeOp op) const {
  int64_t bytes = 0;
  auto add = [&](Value value) {
    if (numbers.contains(value))
      bytes += getValueBytes(value);
  };
  if (!op.getArgsAttr()) {
    llvm::for_each(op.getOperands(), add);
    return bytes;
  }
  for (Attribute argument : op.getArgsAttr())
    if (auto operand = dyn_cast<OperandAttr>(argument))
      add(op.getOperand(operand.getIndex()));
  return bytes;
}

uint32_t GraphBuilder::appendItem(uint32_t list, Value value) {
  JointNode item;
  item.kind = Kind::Item;
  item.isRecomputable = item.isFusible = true;
  item.mark = result.nodes[list].mark;
  item.bytes = getValueBytes(value);
  item.inputs.push_back(list);
  return append(std::move(item), value);
}

void GraphBuilder::addNode(NodeOp op) {
  JointNode node;
  if (isTangent(op)) {
    node.kind = Kind::Tangent;
    node.bytes = getValueBytes(op.getResult(0));
    numbers[op.getResult(0)] = append(std::move(node), op.getResult(0));
    result.tangents.push_back(op);
    return;
  }
  for (Value operand : op.getOperands())
    addInput(node, operand);
  // The number of the step, which the import counts up.
  if (node.inputs.empty() && op.getNumOperands() > 0 &&
      !nodes::isRandomTarget(op.getTarget()))
    return;
  std::optional<NodeOperator> called = findNodeOperator(op.getTarget());
  classify(node, called);
  node.mark = getMark(op);
  node.inputBytes = getArgumentBytes(op);
  for (Value value : op.getResults())
    node.bytes += getValueBytes(value);
  node.hasEffects = op.getEffects() || called == NodeOperator::C10dWaitTensor;
  node.isTuple = returnsList(op, called);
  if (!node.isTuple) {
    numbers[op.getResult(0)] = append(std::move(node), op.getResult(0));
    return;
  }
  uint32_t list = append(std::move(node), nullptr);
  for (Value value : op.getResults())
    if (!value.use_empty())
      numbers[value] = appendItem(list, value);
}

void GraphBuilder::addCollective(CollectiveOpInterface op) {
  WaitOp wait = getWait(op);
  if (!wait)
    return;
  JointNode node;
  for (Value input : op.getInputs())
    addInput(node, input);
  node.mark = getMark(op);
  for (Value tensor : wait.getTensors())
    node.bytes += getValueBytes(tensor);
  node.isTuple = op.getInputs().size() > 1;
  Value value = node.isTuple ? nullptr : wait.getTensors().front();
  numbers[op.getFuture()] = append(std::move(node), value);
}

void GraphBuilder::addWait(WaitOp op) {
  uint32_t start = numbers.lookup(op.getFuture());
  bool hasSeveral = result.nodes[start].isTuple;
  for (Value tensor : op.getTensors()) {
    JointNode node;
    node.mark = getMark(op);
    node.hasEffects = true;
    node.bytes = getValueBytes(tensor);
    node.inputs.push_back(hasSeveral ? appendItem(start, tensor) : start);
    numbers[tensor] = append(std::move(node), tensor);
  }
}

LogicalResult GraphBuilder::addOp(Operation *op) {
  if (isa<RandomOp>(op))
    return success();
  if (auto node = dyn_cast<NodeOp>(op))
    addNode(node);
  else if (auto wait = dyn_cast<WaitOp>(op))
    addWait(wait);
  else if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    addCollective(collective);
  else
    return op->emitError()
           << "matching PyTorch takes the operations of a captured graph, got '"
           << op->getName() << "'";
  return success();
}

void GraphBuilder::addResults() {
  Operation *terminator = graph.getBlock().getTerminator();
  for (Value value : terminator->getOperands()) {
    auto it = numbers.find(value);
    if (it == numbers.end())
      continue;
    JointNode &node = result.nodes[it->second];
    node.isReturned = true;
    Operation *def = value.getDefiningOp();
    if (def && graph.isBackward(def))
      node.isReturnedByBackward = true;
  }
}

FailureOr<PyTorchGraph> GraphBuilder::build() {
  addArguments();
  for (Operation *op : graph.getOps())
    if (failed(addOp(op)))
      return failure();
  addResults();
  if (result.tangents.empty())
    return step.emitError()
           << "matching PyTorch takes a step in which backward begins with "
              "\"aten.full_like\" or \"aten.ones_like\" of a result of forward";
  return std::move(result);
}

FailureOr<PyTorchGraph> partition::buildPyTorchGraph(func::FuncOp step,
                                                     const StepGraph &graph) {
  return GraphBuilder(step, graph).build();
}
