//===- MicroBatches.h - Several batches in one step -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_MICROBATCHES_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_MICROBATCHES_H

#include "Step.h"

namespace regather::tg::spmd {

/// Repeats a step without an optimizer for `count` batches that its inputs now
/// hold one after the other along dimension 0. Losses and gradients become
/// means, and buffers go from one batch to the next. Returns the operations
/// that cut the batches out of the inputs. The step has to be analyzed again.
mlir::FailureOr<llvm::SmallVector<mlir::Operation *>>
expandMicroBatches(const Step &step, int64_t count);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_MICROBATCHES_H
