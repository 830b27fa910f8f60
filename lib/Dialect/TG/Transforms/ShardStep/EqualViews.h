//===- EqualViews.h - Views that are made several times ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_EQUALVIEWS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_EQUALVIEWS_H

#include "mlir/IR/Block.h"

namespace regather::tg::spmd {

/// Merges nodes of one phase that make the same view of the same value: each
/// linear layer has a view of its input of its own, and what is gathered for
/// one of them would be gathered again for the next. Linear.
void mergeEqualViews(mlir::Block &block);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_EQUALVIEWS_H
