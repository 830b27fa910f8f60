//===- NodeExpansion.cpp - Nodes in terms of simpler nodes ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeExpansion.h"

using namespace mlir;
using namespace regather;
using namespace regather::nodes;

NodeMaker::NodeMaker(tg::NodeOp node)
    : ImplicitLocOpBuilder(node.getLoc(), node) {
  SmallVector<NamedAttribute> named;
  // The numbers of saved results mean nothing for other nodes.
  for (NamedAttribute attribute : node->getDiscardableAttrs())
    if (attribute.getName() != tg::kSavedResultsAttrName)
      named.push_back(attribute);
  attributes = getDictionaryAttr(named);
}

NodeMaker::NodeMaker(Location loc, Block::iterator point, Block *block,
                     std::optional<tg::Phase> phase)
    : ImplicitLocOpBuilder(loc, block, point) {
  SmallVector<NamedAttribute> named;
  if (phase)
    named.push_back(getNamedAttr(tg::kPhaseAttrName,
                                 tg::PhaseAttr::get(getContext(), *phase)));
  attributes = getDictionaryAttr(named);
}

Value NodeMaker::make(Target target, ArrayRef<NodeOperand> operands,
                      Type type) {
  SmallVector<Value> inputs;
  SmallVector<Attribute> args;
  for (NodeOperand operand : operands) {
    if (auto attribute = dyn_cast<Attribute>(operand)) {
      args.push_back(attribute);
      continue;
    }
    args.push_back(tg::OperandAttr::get(getContext(), inputs.size()));
    inputs.push_back(cast<Value>(operand));
  }
  auto node = tg::NodeOp::create(*this, TypeRange(type), tg::getName(target),
                                 inputs, getArrayAttr(args), DictionaryAttr(),
                                 /*effects=*/false);
  node->setDiscardableAttrs(attributes);
  return node.getResult(0);
}

Value NodeMaker::makeOfList(Target target, ValueRange list, Attribute second,
                            Type type) {
  SmallVector<Attribute> tensors;
  for (unsigned i = 0; i < list.size(); ++i)
    tensors.push_back(tg::OperandAttr::get(getContext(), i));
  auto node = tg::NodeOp::create(
      *this, TypeRange(type), tg::getName(target), list,
      getArrayAttr({getArrayAttr(tensors), second}), DictionaryAttr(),
      /*effects=*/false);
  node->setDiscardableAttrs(attributes);
  return node.getResult(0);
}

tg::NodeOp NodeMaker::copy(tg::NodeOp node, ValueRange operands,
                           TypeRange types) {
  auto made = tg::NodeOp::create(*this, types, node.getTarget(), operands,
                                 node.getArgsAttr(), node.getKwargsAttr(),
                                 node.getEffects());
  made->setDiscardableAttrs(attributes);
  return made;
}

SmallVector<NodeOperand> regather::nodes::getNodeOperands(tg::NodeOp node) {
  SmallVector<NodeOperand> operands;
  ArrayAttr args = node.getArgsAttr();
  if (!args) {
    for (Value input : node.getInputs())
      operands.push_back(input);
    return operands;
  }
  for (Attribute attribute : args) {
    if (auto operand = dyn_cast<tg::OperandAttr>(attribute))
      operands.push_back(Value(node.getInputs()[operand.getIndex()]));
    else
      operands.push_back(attribute);
  }
  return operands;
}

RankedTensorType regather::nodes::withElement(Type tensor, Type element) {
  return RankedTensorType::get(cast<RankedTensorType>(tensor).getShape(),
                               element);
}
