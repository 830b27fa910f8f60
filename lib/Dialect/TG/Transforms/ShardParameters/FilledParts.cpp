//===- FilledParts.cpp - Tensors of one number in other shapes ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FilledParts.h"

#include "PartNodes.h"

#include "regather/Dialect/TG/Nodes/NodeArguments.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::spmd;

/// The number that a node makes a tensor of like another one; null if it makes
/// none like another.
static TypedAttr getLikeness(NodeOp node) {
  Builder builder(node.getContext());
  std::optional<NodeTarget> target = findNodeTarget(node.getTarget());
  switch (getInfo(*target).op) {
  case NodeOperator::AtenEmptyLike:
  case NodeOperator::AtenZerosLike:
    return builder.getI64IntegerAttr(0);
  case NodeOperator::AtenOnesLike:
    return builder.getI64IntegerAttr(1);
  case NodeOperator::AtenFullLike:
    return nodes::NodeArguments(node, *target, /*isQuiet=*/true)
        .getNumber("fill_value");
  default:
    return nullptr;
  }
}

Value regather::tg::spmd::buildFilled(Communication &communication,
                                      NodeOp filled, ValueRange operands,
                                      RankedTensorType type) {
  OpBuilder &builder = communication.getBuilder();
  // What it is made like may have another shape on a rank.
  if (TypedAttr number = getLikeness(filled))
    return PartNodes(communication)
        .make(NodeTarget::AtenFullDefault, type, {},
              {builder.getI64ArrayAttr(type.getShape()), number});
  return cast<ShardingRuleOpInterface>(filled.getOperation())
      .buildPart(builder, operands, type)
      ->getResult(0);
}
