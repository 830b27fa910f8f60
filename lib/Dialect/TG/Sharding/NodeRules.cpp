//===- NodeRules.cpp - Rules of nodes, by target --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeRules.h"

#include "regather/Dialect/TG/Nodes/ZeroTensors.h"
#include "regather/Dialect/TG/Sharding/RuledTargets.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::sharding;

//===----------------------------------------------------------------------===//
// NodeRuleBuilder
//===----------------------------------------------------------------------===//

NodeRuleBuilder::NodeRuleBuilder(NodeOp node, NodeTarget target)
    : args(node, target, /*isQuiet=*/true), rule(ShardingRule::getWhole(node)),
      node(node), isOperandSet(node.getNumOperands()),
      isResultSet(node.getNumResults()), numUses(node.getNumOperands()) {
  for (StringRef name : args.getNames())
    for (unsigned operand : args.getOperandNumbers(name))
      if (operand < numUses.size())
        ++numUses[operand];
}

static ArrayRef<int64_t> getShapeOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getShape() : ArrayRef<int64_t>();
}

ArrayRef<int64_t> NodeRuleBuilder::getShape(StringRef name) {
  if (!args.isTensor(name))
    return {};
  nodes::Tensor tensor = args.getTensor(name);
  return tensor ? tensor.getType().getShape() : ArrayRef<int64_t>();
}

ArrayRef<int64_t> NodeRuleBuilder::getResultShape(unsigned i) {
  if (hasResult(i))
    return getShapeOf(node.getResult(i).getType());
  (void)args.fail("result is missing");
  return {};
}

bool NodeRuleBuilder::hasResult(unsigned i) {
  return i < node.getNumResults() &&
         isa<RankedTensorType>(node.getResult(i).getType());
}

bool NodeRuleBuilder::isZeroArgument(StringRef name) {
  if (!args.has(name))
    return false;
  if (args.isTensor(name)) {
    nodes::Tensor tensor = args.getTensor(name);
    return tensor && isZero(tensor);
  }
  return args.getFloat(name) == 0;
}

void NodeRuleBuilder::setOperand(unsigned i, const TensorFactors &factors) {
  if (isOperandSet[i] && rule.operands[i] != factors)
    isConsistent = false;
  isOperandSet[i] = true;
  rule.operands[i] = factors;
}

void NodeRuleBuilder::setOperand(StringRef name, const TensorFactors &factors) {
  for (unsigned operand : args.getOperandNumbers(name))
    setOperand(operand, factors);
}

void NodeRuleBuilder::setBroadcast(StringRef name, const TensorFactors &factors,
                                   ArrayRef<int64_t> shape) {
  for (unsigned operand : args.getOperandNumbers(name))
    setOperand(operand,
               getBroadcast(rule, factors, shape,
                            getShapeOf(node.getOperand(operand).getType())));
}

void NodeRuleBuilder::setResult(const TensorFactors &factors, unsigned i) {
  if (hasResult(i))
    rule.results[i] = factors;
}

void NodeRuleBuilder::addLinear(ArrayRef<StringRef> names) {
  SmallVector<unsigned> numGiven(numUses.size());
  SmallVector<unsigned> set;
  for (StringRef name : names) {
    SmallVector<unsigned, 1> operands = args.getOperandNumbers(name);
    if (operands.empty())
      return;
    for (unsigned operand : operands) {
      ++numGiven[operand];
      set.push_back(operand);
    }
  }
  if (llvm::all_of(set, [&](unsigned operand) {
        return numGiven[operand] == numUses[operand];
      }))
    rule.addLinear(set);
}

void NodeRuleBuilder::addUnread(StringRef name) {
  llvm::append_range(rule.unread, args.getOperandNumbers(name));
}

ShardingRule NodeRuleBuilder::finish() {
  if (args.hasFailed() || !isConsistent)
    return ShardingRule::getWhole(node);
  return finishRule(std::move(rule), node);
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

static NodeRuleTable makeTable() {
  NodeRuleTable table;
  addAttentionRules(table);
  addConstantRules(table);
  addConvolutionRules(table);
  addElementwiseRules(table);
  addFactorizationRules(table);
  addIndexingRules(table);
  addLossRules(table);
  addGemmRules(table);
  addNormalizationRules(table);
  addPoolingRules(table);
  addRandomRules(table);
  addReductionRules(table);
  addSoftmaxRules(table);
  addViewRules(table);
  return table;
}

const NodeRuleTable &regather::tg::sharding::getNodeRules() {
  static const NodeRuleTable table = makeTable();
  return table;
}

bool regather::tg::sharding::hasNodeRule(NodeTarget target) {
  return getNodeRules().lookup(target) != nullptr;
}

/// The target of `node` if it has a rule.
static std::optional<NodeTarget> getRuledTarget(NodeOp node) {
  std::optional<NodeTarget> target = findNodeTarget(node.getTarget());
  if (target && hasNodeRule(*target))
    return target;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Sizes among the arguments
//===----------------------------------------------------------------------===//

/// The attribute that replaces `old`: all sizes of `type`, or that of `dim`.
static Attribute getSizes(int dim, RankedTensorType type, Attribute old) {
  Builder builder(type.getContext());
  if (dim == kAllDims)
    return builder.getI64ArrayAttr(type.getShape());
  if (dim >= type.getRank())
    return old;
  return builder.getI64IntegerAttr(type.getDimSize(dim));
}

/// Strides of a dense tensor of `type` whose dimensions lie in the order that
/// `old` gives them.
static Attribute getStrides(RankedTensorType type, Attribute old) {
  SmallVector<int64_t> given;
  if (auto array = dyn_cast<ArrayAttr>(old))
    for (Attribute stride : array)
      if (auto number = dyn_cast<IntegerAttr>(stride))
        given.push_back(number.getInt());
  if (static_cast<int64_t>(given.size()) != type.getRank())
    return old;
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  llvm::sort(order, [&](int64_t a, int64_t b) {
    return std::make_pair(-given[a], a) < std::make_pair(-given[b], b);
  });
  int64_t stride = 1;
  for (int64_t dim : llvm::reverse(order)) {
    given[dim] = stride;
    stride *= std::max<int64_t>(type.getDimSize(dim), 1);
  }
  return Builder(type.getContext()).getI64ArrayAttr(given);
}

/// Lets `getNew` give the argument of `part` that is called `name`, if it has
/// it.
static void replaceArgument(NodeOp part, NodeTarget target, StringRef name,
                            function_ref<Attribute(Attribute)> getNew) {
  nodes::NodeArguments args(part, target, /*isQuiet=*/true);
  size_t position = llvm::find(args.getNames(), name) - args.getNames().begin();
  if (std::optional<ArrayAttr> given = part.getArgs();
      given && position < given->size()) {
    SmallVector<Attribute> values(given->begin(), given->end());
    if (isa<UnitAttr>(values[position]))
      return;
    values[position] = getNew(values[position]);
    part.setArgsAttr(ArrayAttr::get(part.getContext(), values));
    return;
  }
  DictionaryAttr kwargs = part.getKwargsAttr();
  Attribute old = kwargs ? kwargs.get(name) : Attribute();
  if (!old || isa<UnitAttr>(old))
    return;
  NamedAttrList values(kwargs);
  values.set(name, getNew(old));
  part.setKwargsAttr(values.getDictionary(part.getContext()));
}

/// Takes the sizes in the arguments of `part`, and the strides that go with
/// them, from its first result.
static void setSizes(NodeOp part, NodeTarget target) {
  const NodeTargetInfo &info = getInfo(target);
  if (info.sizeParameter.empty() || part.getNumResults() == 0)
    return;
  auto type = dyn_cast<RankedTensorType>(part.getResult(0).getType());
  if (!type)
    return;
  replaceArgument(part, target, info.sizeParameter, [&](Attribute old) {
    return getSizes(info.sizeDim, type, old);
  });
  if (info.op == NodeOperator::AtenEmptyStrided ||
      info.op == NodeOperator::AtenNewEmptyStrided)
    replaceArgument(part, target, "stride",
                    [&](Attribute old) { return getStrides(type, old); });
}

//===----------------------------------------------------------------------===//
// External model
//===----------------------------------------------------------------------===//

namespace {
struct NodeModel : ShardingRuleOpInterface::ExternalModel<NodeModel, NodeOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto node = cast<NodeOp>(op);
    std::optional<NodeTarget> target = getRuledTarget(node);
    // What has effects happens once, on whole tensors.
    if (!target || node.getEffects())
      return ShardingRule::getWhole(op);
    NodeRuleBuilder builder(node, *target);
    if (!builder.args.hasFailed())
      getNodeRules().lookup(*target)->build(builder);
    return builder.finish();
  }

  Operation *buildPart(Operation *op, OpBuilder &builder, ValueRange operands,
                       TypeRange resultTypes) const {
    auto node = cast<NodeOp>(op);
    auto part = NodeOp::create(builder, op->getLoc(), resultTypes, operands,
                               op->getAttrs());
    std::optional<NodeTarget> target = getRuledTarget(node);
    if (!target)
      return part;
    setSizes(part, *target);
    if (AdaptFn adapt = getNodeRules().lookup(*target)->adapt) {
      nodes::NodeArguments args(node, *target, /*isQuiet=*/true);
      adapt(args, part);
    }
    return part;
  }
};
} // namespace

void regather::tg::sharding::registerNodeModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, TGDialect *) {
    NodeOp::attachInterface<NodeModel>(*context);
  });
}
