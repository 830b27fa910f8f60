//===- WrittenAttention.h - Attention of products ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_WRITTENATTENTION_H
#define REGATHER_DIALECT_TG_TRANSFORMS_WRITTENATTENTION_H

#include "mlir/IR/BuiltinOps.h"

namespace regather::tg {

/// Attention that steps write as products and a softmax.
struct WrittenAttention {
  int64_t chains = 0;
  /// Of the probabilities of all chains.
  int64_t scoreBytes = 0;
};

/// What tg-fuse-attention would replace in the steps of `module`. Linear in the
/// number of operations.
WrittenAttention findWrittenAttention(mlir::ModuleOp module);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_TRANSFORMS_WRITTENATTENTION_H
