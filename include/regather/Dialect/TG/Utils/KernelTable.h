//===- KernelTable.h - Kernels by what they compute -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_UTILS_KERNELTABLE_H
#define REGATHER_DIALECT_TG_UTILS_KERNELTABLE_H

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringSet.h"

namespace regather::tg {

/// The kernels of one module. Those that compute the same are one.
class KernelTable {
public:
  explicit KernelTable(mlir::ModuleOp module);

  /// The kernel of the module that is equal to `kernel`, apart from its name
  /// and locations. If there is none, `kernel` itself, under a name that begins
  /// with `stem` and inserted before `before`, on top of the module.
  KernelOp findOrInsert(mlir::OwningOpRef<KernelOp> kernel,
                        const llvm::Twine &stem, mlir::Operation *before);

  /// How many were inserted.
  int64_t getNumInserted() const { return numInserted; }

private:
  llvm::StringSet<> names;
  /// By a hash of what they compute; each list in the order of insertion.
  llvm::DenseMap<size_t, llvm::SmallVector<KernelOp, 1>> kernels;
  int64_t numInserted = 0;
};

/// Removes the `tg.*` attributes of the operations in a kernel: what says where
/// they came from would keep equal kernels apart.
void dropOrigins(KernelOp kernel);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_UTILS_KERNELTABLE_H
