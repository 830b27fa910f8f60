//===- KernelTable.h - The kernels of one module ----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_FORMKERNELS_KERNELTABLE_H
#define REGATHER_DIALECT_TG_TRANSFORMS_FORMKERNELS_KERNELTABLE_H

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringSet.h"

namespace regather::tg::kernels {

/// The kernels that a pass adds to a module. Equal ones are one.
class KernelTable {
public:
  explicit KernelTable(mlir::ModuleOp module);

  /// New kernels are inserted before `op`, on top of the module.
  void setInsertionPoint(mlir::Operation *op) { insertionPoint = op; }

  /// A kernel equal to `kernel`: one from before, or this one, which then is
  /// named after `members`, the operations that it was made from.
  KernelOp findOrInsert(mlir::OwningOpRef<KernelOp> kernel,
                        llvm::ArrayRef<mlir::Operation *> members);

  int64_t getNumKernels() const { return numKernels; }

private:
  std::string makeName(llvm::ArrayRef<mlir::Operation *> members);

  mlir::Operation *insertionPoint = nullptr;
  llvm::StringSet<> names;
  /// By a hash of what they compute; each list in the order of insertion.
  llvm::DenseMap<size_t, llvm::SmallVector<KernelOp, 1>> kernels;
  int64_t numKernels = 0;
};

/// Drops what says where an operation came from, which would keep equal kernels
/// apart.
void dropOrigin(mlir::Operation *op);

} // namespace regather::tg::kernels

#endif // REGATHER_DIALECT_TG_TRANSFORMS_FORMKERNELS_KERNELTABLE_H
