//===- AttentionTargets.h - Nodes that are attention ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_NODES_ATTENTIONTARGETS_H
#define REGATHER_DIALECT_TG_NODES_ATTENTIONTARGETS_H

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Dialect/TG/Nodes/NodeArguments.h"
#include "regather/Dialect/TG/Targets/NodeTargets.h"

namespace regather::tg {

/// What `op` calls, if it is a node for attention whose parameters are known.
std::optional<NodeTarget> findAttentionTarget(mlir::Operation *op);

/// True if it computes gradients.
bool isAttentionBackward(NodeTarget target);

/// True if it computes the gradient of its mask, too: result 3, of shape [batch
/// or 1, heads, rows, columns].
bool hasMaskGradient(NodeTarget target);

/// What bounds the scores of such a node, or nothing. An error unless it is a
/// positive number.
std::optional<double> getSoftcap(nodes::NodeArguments &args);

/// True if such a node attends to no later positions.
bool isCausalAttention(mlir::Operation *op);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_NODES_ATTENTIONTARGETS_H
