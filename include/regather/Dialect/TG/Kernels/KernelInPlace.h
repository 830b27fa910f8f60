//===- KernelInPlace.h - Results in the place of arguments ------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_KERNELS_KERNELINPLACE_H
#define REGATHER_DIALECT_TG_KERNELS_KERNELINPLACE_H

#include "regather/Dialect/TG/IR/TG.h"

namespace regather::tg {

/// An argument and a result of a kernel.
using InPlacePair = std::pair<unsigned, unsigned>;

/// The pairs of which the result may be written to the memory of the argument.
///
/// The two have one type, equal `tg.rows`, and a chain of operations between
/// them, each of which works element by element, adds nothing up, and alone
/// reads what the one before makes. Element i of the result is computed from
/// element i of the argument, and nothing else reads that, nor the result. So
/// code cannot write the one before it has read the other, even if it is told
/// that buffers do not overlap. It must not use the memory of a result for
/// anything that it computes before.
///
/// One argument may be in several pairs, and so may one result: a launch takes
/// any that share neither.
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

#endif // REGATHER_DIALECT_TG_KERNELS_KERNELINPLACE_H
