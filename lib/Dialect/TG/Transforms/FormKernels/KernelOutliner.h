//===- KernelOutliner.h - Kernels and launches for groups -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_FORMKERNELS_KERNELOUTLINER_H
#define REGATHER_DIALECT_TG_TRANSFORMS_FORMKERNELS_KERNELOUTLINER_H

#include "KernelGroups.h"
#include "regather/Dialect/TG/Kernels/KernelTable.h"

namespace regather::tg::kernels {

/// Turns groups into kernels.
class KernelOutliner {
public:
  explicit KernelOutliner(KernelTable &table) : table(table) {}

  /// Replaces the groups of `block` by launches and brings everything in their
  /// order.
  void outline(mlir::Block &block, const KernelGroups &groups);

  int64_t getNumLaunches() const { return numLaunches; }
  int64_t getNumOpsInKernels() const { return numOps; }

private:
  void launch(mlir::OpBuilder &builder, const KernelGroups &groups,
              unsigned unit);

  KernelTable &table;
  int64_t numLaunches = 0, numOps = 0;
};

} // namespace regather::tg::kernels

#endif // REGATHER_DIALECT_TG_TRANSFORMS_FORMKERNELS_KERNELOUTLINER_H
