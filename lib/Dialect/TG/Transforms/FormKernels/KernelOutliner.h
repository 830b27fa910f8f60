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

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringSet.h"

namespace regather::tg::kernels {

/// The kernels of one module. Equal groups share one.
class KernelOutliner {
public:
  explicit KernelOutliner(mlir::ModuleOp module);

  /// Replaces the groups of `block` by launches and brings everything in their
  /// order. New kernels are inserted before `before`, on top of the module.
  void outline(mlir::Block &block, const KernelGroups &groups,
               mlir::Operation *before);

  int64_t getNumKernels() const { return numKernels; }
  int64_t getNumLaunches() const { return numLaunches; }
  int64_t getNumOpsInKernels() const { return numOps; }

private:
  void launch(mlir::OpBuilder &builder, const KernelGroups &groups,
              unsigned unit);
  KernelOp findOrInsert(mlir::OwningOpRef<KernelOp> kernel,
                        const KernelGroups &groups, const Unit &unit);
  std::string makeName(const KernelGroups &groups, const Unit &unit);

  mlir::Operation *insertionPoint = nullptr;
  llvm::StringSet<> names;
  /// By a hash of what they compute; each list in the order of insertion.
  llvm::DenseMap<size_t, llvm::SmallVector<KernelOp, 1>> kernels;
  int64_t numKernels = 0, numLaunches = 0, numOps = 0;
};

} // namespace regather::tg::kernels

#endif // REGATHER_DIALECT_TG_TRANSFORMS_FORMKERNELS_KERNELOUTLINER_H
