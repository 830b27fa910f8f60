//===- AttentionNodes.h - Nodes in place of a chain -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_TRANSFORMS_FUSEATTENTION_ATTENTIONNODES_H
#define REGATHER_LIB_DIALECT_TG_TRANSFORMS_FUSEATTENTION_ATTENTIONNODES_H

#include "AttentionChain.h"

namespace regather::tg::attention {

/// The nodes that negate masks, by mask: layers share one.
using NegatedMasks = llvm::DenseMap<mlir::Value, mlir::Value>;

/// Puts a node for attention in the place of a chain, and one for its gradients
/// in that of the chain's backward, and erases what nobody reads any more. The
/// nodes have the names of the products whose results they give, and their
/// policy. Linear in the number of operations of the chain.
void replaceChain(AttentionChain &chain, NegatedMasks &negated);

} // namespace regather::tg::attention

#endif // REGATHER_LIB_DIALECT_TG_TRANSFORMS_FUSEATTENTION_ATTENTIONNODES_H
