//===- KernelInPlace.h - Results in the place of arguments ------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_UTILS_KERNELINPLACE_H
#define REGATHER_DIALECT_TG_UTILS_KERNELINPLACE_H

#include "regather/Dialect/TG/IR/TG.h"

namespace regather::tg {

/// An argument and a result of a kernel.
using InPlacePair = std::pair<unsigned, unsigned>;

/// The pairs of which the result may be written to the memory of the argument.
///
/// Types and `tg.rows` of the two are equal, and all that the kernel makes of
/// the argument it makes element by element: element i of the argument reaches
/// element i of tensors only. Code for a kernel has to keep this: it writes
/// element i of such a result after its last read of element i of the argument,
/// for all results, and not as a place for other values.
///
/// Each argument, and each result, is in several pairs at most as a choice: a
/// launch takes one of them.
llvm::SmallVector<InPlacePair> getInPlacePairs(KernelOp kernel);

/// The pairs of the kernels of one module; each kernel is looked at once.
class InPlaceTable {
public:
  explicit InPlaceTable(mlir::Operation *module) : symbols(module) {}

  llvm::ArrayRef<InPlacePair> lookup(mlir::FlatSymbolRefAttr kernel);

private:
  mlir::SymbolTable symbols;
  llvm::DenseMap<mlir::Attribute, llvm::SmallVector<InPlacePair>> pairs;
};

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_UTILS_KERNELINPLACE_H
