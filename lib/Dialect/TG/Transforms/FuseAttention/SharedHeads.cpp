//===- SharedHeads.cpp - Heads that are repeated --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedHeads.h"

#include "regather/Dialect/TG/Nodes/NodeArguments.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::attention;

/// The sum over dimension 2 of a tensor of `shape` that is all that becomes of
/// a gradient; null if something else does.
static Value findSumOverCopies(Value gradient, bool isTransposed,
                               ArrayRef<int64_t> shape) {
  while (gradient.hasOneUse()) {
    Operation *user = *gradient.getUsers().begin();
    std::optional<NodeTarget> target = getTarget(user);
    if (transposesMatrices(user)) {
      isTransposed = !isTransposed;
    } else if (!keepsMatrices(user)) {
      if (target != NodeTarget::AtenSumDimIntList || isTransposed ||
          getMatrixShape(gradient) != shape)
        return {};
      nodes::NodeArguments args(cast<NodeOp>(user), *target, /*isQuiet=*/true);
      SmallVector<int64_t> dims = args.getReducedDims("dim", 5);
      bool isSame = getElementTypeOrSelf(user->getResult(0).getType()) ==
                    getElementTypeOrSelf(gradient.getType());
      return !args.hasFailed() && isSame && dims == SmallVector<int64_t>{2}
                 ? user->getResult(0)
                 : Value();
    }
    gradient = user->getResult(0);
  }
  return {};
}

std::optional<SharedHeads>
regather::tg::attention::findSharedHeads(Value apart, Value gradient,
                                         bool isTransposed) {
  Operation *op = apart.getDefiningOp();
  while (op && keepsElements(op))
    op = op->getOperand(0).getDefiningOp();
  if (!op || !isNode(op, NodeOperator::AtenExpand))
    return std::nullopt;
  ArrayRef<int64_t> whole = getMatrixShape(apart);
  ArrayRef<int64_t> repeated = getMatrixShape(op->getResult(0));
  ArrayRef<int64_t> single = getMatrixShape(op->getOperand(0));
  if (repeated.size() != 5 || single.size() != 5 || single[2] != 1)
    return std::nullopt;
  for (unsigned i : {0, 1, 3, 4})
    if (single[i] != repeated[i])
      return std::nullopt;
  if (whole[0] != repeated[0] || whole[1] != repeated[1] * repeated[2] ||
      whole.take_back(2) != repeated.take_back(2))
    return std::nullopt;
  SharedHeads shared{op->getOperand(0), repeated[2], {}};
  if (gradient) {
    shared.gradient = findSumOverCopies(gradient, isTransposed, repeated);
    if (!shared.gradient)
      return std::nullopt;
  }
  return shared;
}
