//===- AttentionTargets.cpp - Nodes that are attention --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Nodes/AttentionTargets.h"

#include <cmath>

using namespace mlir;
using namespace regather::tg;

std::optional<NodeTarget> regather::tg::findAttentionTarget(Operation *op) {
  auto node = dyn_cast<NodeOp>(op);
  if (!node || node.getEffects())
    return std::nullopt;
  std::optional<NodeTarget> target = findNodeTarget(node.getTarget());
  if (target && getInfo(getInfo(*target).op).kind == OperatorClass::Attention)
    return target;
  return std::nullopt;
}

bool regather::tg::isAttentionBackward(NodeTarget target) {
  return getInfo(getInfo(target).op).cost == CostClass::AttentionBackward;
}

bool regather::tg::hasMaskGradient(NodeTarget target) {
  return getInfo(target).op == NodeOperator::RegatherBiasedAttentionBackward;
}

std::optional<double> regather::tg::getSoftcap(nodes::NodeArguments &args) {
  if (!llvm::is_contained(args.getNames(), "softcap") || !args.has("softcap"))
    return std::nullopt;
  double softcap = args.getFloat("softcap");
  if (!(softcap > 0) || !std::isfinite(softcap)) {
    (void)args.fail("softcap", "must be a positive number");
    return std::nullopt;
  }
  return softcap;
}

bool regather::tg::isCausalAttention(Operation *op) {
  std::optional<NodeTarget> target = findAttentionTarget(op);
  if (!target)
    return false;
  nodes::NodeArguments args(cast<NodeOp>(op), *target, /*isQuiet=*/true);
  return args.getBool("is_causal", false) && !args.hasFailed();
}
