//===- Padding.cpp - What lies behind the end of uneven parts -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Padding.h"

#include "PartNodes.h"

#include "regather/Dialect/TG/Targets/NodeTargets.h"

#include "mlir/IR/TypeUtilities.h"

#include <limits>

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

bool regather::tg::spmd::hasPadding(Type global, const ValueState &state,
                                    const DataMesh &mesh) {
  auto type = dyn_cast<RankedTensorType>(global);
  return type && state.isSplit() &&
         type.getDimSize(state.dim) % mesh.getRanks(state.group) != 0;
}

/// The operator that `op` calls, if it is a node.
static std::optional<NodeOperator> getOperator(Operation *op) {
  auto node = dyn_cast<NodeOp>(op);
  return node ? findNodeOperator(node.getTarget()) : std::nullopt;
}

/// True of functions, element by element, that are zero where all operands
/// are, but not linear.
static bool isZeroAtZero(Operation *op) {
  std::optional<NodeOperator> called = getOperator(op);
  if (!called)
    return false;
  switch (*called) {
  case NodeOperator::AtenAbs:
  case NodeOperator::AtenErf:
  case NodeOperator::AtenGelu:
  case NodeOperator::AtenGeluBackward:
  case NodeOperator::AtenRelu:
  case NodeOperator::AtenSigmoidBackward:
  case NodeOperator::AtenSilu:
  case NodeOperator::AtenSiluBackward:
  case NodeOperator::AtenSqrt:
  case NodeOperator::AtenTanh:
  case NodeOperator::AtenTanhBackward:
  case NodeOperator::AtenThresholdBackward:
  // Rounding keeps zero, too.
  case NodeOperator::AtenToCopy:
    return true;
  default:
    return false;
  }
}

bool regather::tg::spmd::keepsZeros(Operation *op, const ShardingRule &rule,
                                    const FactorSplit &split) {
  if (isZeroAtZero(op))
    return true;
  llvm::SmallBitVector linear(split.operands.size());
  for (const llvm::SmallBitVector &set : rule.linear)
    if (llvm::all_of(set.set_bits(),
                     [&](unsigned i) { return split.operands[i].has_value(); }))
      linear |= set;
  bool isCut = false;
  for (auto [number, dim] : llvm::enumerate(split.operands)) {
    if (dim && !linear.test(number))
      return false;
    isCut |= dim.has_value();
  }
  return isCut;
}

std::optional<double>
regather::tg::spmd::getIgnoredPadding(Operation *op, const ShardingRule &rule,
                                      const FactorSplit &split) {
  switch (rule.factors[split.factor].kind) {
  case FactorKind::Sum:
    if (keepsZeros(op, rule, split))
      return 0;
    return std::nullopt;
  case FactorKind::Max:
    // What other operations have maxima of need not be an operand.
    if (getOperator(op) == NodeOperator::AtenAmax &&
        isa<FloatType>(getElementTypeOrSelf(op->getOperand(0))))
      return -std::numeric_limits<double>::infinity();
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

Value PaddingMask::getMask(RankedTensorType type) {
  if (mask)
    return mask;
  PartNodes nodes(communication);
  int64_t part = type.getDimSize(state.dim);
  Value begins = nodes.countBy(part, mesh.getRanks(state.group));
  Value begin =
      communication.slice(begins, ValueState::getSplit(state.group, {0, 1}));
  Value positions = nodes.makeBinary(NodeTarget::AtenAddTensor,
                                     nodes.countBy(1, part), begin);
  SmallVector<int64_t> shape(type.getRank(), 1);
  shape[state.dim] = part;
  return mask = nodes.reshape(
             nodes.compare(NodeTarget::AtenLtScalar, positions, size), shape);
}

Value PaddingMask::replace(Value part, double number) {
  if (size % mesh.getRanks(state.group) == 0)
    return part;
  assert(state.isSplit() && state.isContiguous() && "padding lies at the end");
  PartNodes nodes(communication);
  return nodes.select(getMask(cast<RankedTensorType>(part.getType())), part,
                      number);
}
