//===- KernelTable.h - Kernels by what they compute -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_KERNELS_KERNELTABLE_H
#define REGATHER_DIALECT_TG_KERNELS_KERNELTABLE_H

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringSet.h"

namespace regather::tg {

/// The kernels of one module, to which a pass adds. Equal ones are one.
class KernelTable {
public:
  explicit KernelTable(mlir::ModuleOp module);

  /// New kernels are inserted before `op`, on top of the module.
  void setInsertionPoint(mlir::Operation *op) { insertionPoint = op; }

  /// A kernel that is equal to `kernel`, apart from its name and locations: one
  /// from before, or this one, which then is named after `members`, the
  /// operations that it was made from.
  KernelOp findOrInsert(mlir::OwningOpRef<KernelOp> kernel,
                        llvm::ArrayRef<mlir::Operation *> members);

  /// How many were inserted.
  int64_t getNumInserted() const { return numInserted; }

private:
  std::string makeName(llvm::ArrayRef<mlir::Operation *> members);

  mlir::Operation *insertionPoint = nullptr;
  llvm::StringSet<> names;
  /// By a hash of what they compute; each list in the order of insertion.
  llvm::DenseMap<size_t, llvm::SmallVector<KernelOp, 1>> kernels;
  int64_t numInserted = 0;
};

/// The part of the operation's name that tells it apart: `mul` for a node
/// `aten.mul.Tensor`.
std::string getShortName(mlir::Operation *op);

/// Removes the `tg.*` attributes of the operations in a kernel: what says where
/// they came from would keep equal kernels apart.
void dropOrigins(KernelOp kernel);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_KERNELS_KERNELTABLE_H
