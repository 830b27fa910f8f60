//===- AttentionTargets.cpp - Nodes that are attention --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Nodes/AttentionTargets.h"

#include "regather/Dialect/TG/Nodes/NodeArguments.h"

using namespace mlir;
using namespace regather::tg;

const AttentionTarget *regather::tg::findAttentionTarget(Operation *op) {
  static const llvm::StringMap<AttentionTarget> targets = {
      {"aten.scaled_dot_product_attention.default",
       {"query key value attn_mask dropout_p is_causal scale enable_gqa",
        false}},
      {"aten._scaled_dot_product_flash_attention_for_cpu.default",
       {"query key value dropout_p is_causal attn_mask scale", false}},
      {"aten._scaled_dot_product_flash_attention_for_cpu_backward.default",
       {"grad_out query key value out logsumexp dropout_p is_causal attn_mask "
        "scale",
        true}}};
  auto node = dyn_cast<NodeOp>(op);
  if (!node || node.getEffects())
    return nullptr;
  auto it = targets.find(node.getTarget());
  return it == targets.end() ? nullptr : &it->second;
}

bool regather::tg::isCausalAttention(Operation *op) {
  const AttentionTarget *target = findAttentionTarget(op);
  if (!target)
    return false;
  nodes::NodeArguments args(cast<NodeOp>(op), target->schema,
                            /*isQuiet=*/true);
  return args.getBool("is_causal", false) && !args.hasFailed();
}
