//===- CrossingValues.h - Values that live on to backward -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_CHAINS_CROSSINGVALUES_H
#define REGATHER_DIALECT_TG_CHAINS_CROSSINGVALUES_H

#include "regather/Dialect/TG/Chains/ParameterChains.h"

#include "llvm/ADT/MapVector.h"

#include <vector>

namespace regather::tg {

/// A forward value that backward reads, or that a forward part returns for it.
struct CrossingValue {
  mlir::Value value;
  int64_t bytes = 0;
  /// The parameter of which it is a gathered copy, or a view of one; else null.
  mlir::BlockArgument gathered;
  /// Then the tensor that has been gathered, or taken out of a flat buffer.
  mlir::Value root;
};

/// In the order of the program.
std::vector<CrossingValue> findCrossingValues(mlir::FunctionOpInterface func,
                                              const StepGraph &graph,
                                              const ParameterChains &chains);

/// Bytes of each gathered parameter that lives on, in the order of the program.
/// Of several views of one tensor no more counts than the tensor has, if that
/// is not less than the largest of them.
llvm::MapVector<mlir::BlockArgument, int64_t>
countGathered(llvm::ArrayRef<CrossingValue> crossing);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_CHAINS_CROSSINGVALUES_H
