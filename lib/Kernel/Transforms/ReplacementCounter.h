//===- ReplacementCounter.h - What patterns replace -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_TRANSFORMS_REPLACEMENTCOUNTER_H
#define REGATHER_LIB_KERNEL_TRANSFORMS_REPLACEMENTCOUNTER_H

#include "mlir/IR/PatternMatch.h"

namespace regather::kernel {

/// Counts the operations that patterns replace. Patterns of MLIR count nothing
/// themselves.
struct ReplacementCounter : mlir::RewriterBase::Listener {
  using Listener::notifyOperationReplaced;
  void notifyOperationReplaced(mlir::Operation *, mlir::ValueRange) override {
    ++count;
  }

  unsigned count = 0;
};

} // namespace regather::kernel

#endif // REGATHER_LIB_KERNEL_TRANSFORMS_REPLACEMENTCOUNTER_H
