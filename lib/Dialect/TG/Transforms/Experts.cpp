//===- Experts.cpp - Parameters that are experts --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Transforms/Experts.h"

#include "ShardParameters/Segments.h"

#include "regather/Dialect/TG/Nodes/GroupedGemmArguments.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using regather::tg::spmd::movesElements;

BlockArgument regather::tg::findExperts(Operation *op) {
  FailureOr<nodes::GroupedGemm> read = nodes::matchGroupedGemm(op);
  if (failed(read) || !read->w.tensor)
    return nullptr;
  Value value = read->w.tensor;
  while (Operation *op = value.getDefiningOp()) {
    auto node = dyn_cast<NodeOp>(op);
    bool isSeen =
        movesElements(op) || (node && findNodeOperator(node.getTarget()) ==
                                          NodeOperator::AtenToCopy);
    if (!isSeen || op->getNumOperands() != 1)
      return nullptr;
    value = op->getOperand(0);
  }
  auto type = dyn_cast<RankedTensorType>(value.getType());
  bool hasAll =
      type && type.getRank() > 0 && type.getDimSize(0) == read->groups;
  return hasAll ? dyn_cast<BlockArgument>(value) : nullptr;
}
