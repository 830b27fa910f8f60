//===- CausalMasks.h - Attention whose rows can be cut ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_CAUSALMASKS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_CAUSALMASKS_H

#include "mlir/IR/Block.h"

namespace regather::tg::spmd {

/// Gives each attention of `block` that masks by position a mask of its own:
/// what follows from the position of a row in the whole sequence cannot be told
/// from a part of it. Masks of equal sizes are made once. Linear.
void makeCausalMasks(mlir::Block &block);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_CAUSALMASKS_H
