//===- NarrowRows.cpp - Rows before they are widened ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NarrowRows.h"

#include "../ShardParameters/Segments.h"

#include "regather/Dialect/TG/Targets/NodeTargets.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

bool regather::tg::spmd::canTravel(Type element) {
  auto floats = dyn_cast<FloatType>(element);
  return !floats || floats.getWidth() >= 16;
}

/// True if a node casts floats to a wider type, which keeps their values.
static bool isWideningCast(Operation *op) {
  auto node = dyn_cast<NodeOp>(op);
  if (!node || node.getTarget() != getName(NodeTarget::AtenToCopyDefault) ||
      node.getNumOperands() != 1 || node.getNumResults() != 1)
    return false;
  auto from =
      dyn_cast<FloatType>(getElementTypeOrSelf(node.getOperand(0).getType()));
  auto to =
      dyn_cast<FloatType>(getElementTypeOrSelf(node.getResult(0).getType()));
  return from && to && canTravel(from) && from.getWidth() < to.getWidth() &&
         APFloat::isRepresentableBy(from.getFloatSemantics(),
                                    to.getFloatSemantics());
}

/// True if `op` gives the elements of one tensor, in any order and any number.
static bool copiesElements(Operation *op) {
  auto node = dyn_cast<NodeOp>(op);
  bool isKnown =
      movesElements(op) ||
      (node && findNodeOperator(node.getTarget()) == NodeOperator::AtenClone);
  return isKnown && op->getNumOperands() == 1 && op->getNumResults() == 1 &&
         isa<ShardingRuleOpInterface>(op);
}

Value regather::tg::spmd::narrowRows(Value wide, Communication &communication) {
  // Longer chains are none that a model writes around one sum.
  constexpr unsigned maxOperations = 8;
  SmallVector<Operation *> moves;
  Operation *op = wide.getDefiningOp();
  while (op && !isWideningCast(op)) {
    if (moves.size() == maxOperations || !copiesElements(op))
      return nullptr;
    moves.push_back(op);
    op = op->getOperand(0).getDefiningOp();
  }
  if (!op)
    return nullptr;
  Value narrow = op->getOperand(0);
  Type element = getElementTypeOrSelf(narrow.getType());
  for (Operation *move : llvm::reverse(moves)) {
    auto type = cast<RankedTensorType>(move->getResult(0).getType());
    narrow =
        cast<ShardingRuleOpInterface>(move)
            .buildPart(communication.getBuilder(), narrow, type.clone(element))
            ->getResult(0);
  }
  return narrow;
}
