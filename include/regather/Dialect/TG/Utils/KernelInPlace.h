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
/// The two have one type, equal `tg.rows`, and a chain of operations between
/// them, each of which works element by element and alone reads what the one
/// before makes. So the only loop that reads the argument is, or comes before,
/// the one that writes the result. Code for a kernel has to keep this: it reads
/// element i of the argument before it writes element i of the results of the
/// chain, and uses the memory of a result for nothing that is computed before.
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

#endif // REGATHER_DIALECT_TG_UTILS_KERNELINPLACE_H
