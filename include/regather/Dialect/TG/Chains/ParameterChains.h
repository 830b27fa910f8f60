//===- ParameterChains.h - What is made of one parameter alone --*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_CHAINS_PARAMETERCHAINS_H
#define REGATHER_DIALECT_TG_CHAINS_PARAMETERCHAINS_H

#include "regather/Dialect/TG/Steps/StepGraph.h"

namespace regather::tg {

/// The chains of a step. The chain of a parameter begins at its argument and
/// goes on through operations that read nothing else (besides constants): casts
/// of the shard, `tg.all_gather` and its wait, and behind the wait views,
/// casts, splits, concatenations of the pieces, whatever leaves about as much
/// data as it reads. It ends where computation begins: at a GEMM, a
/// reduction, a second tensor. That its source is a parameter is what makes a
/// gather one of FSDP; a gather of an activation is in no chain.
///
/// Linear in the number of operands.
class ParameterChains {
public:
  /// `func` is the function that `graph` describes.
  ParameterChains(mlir::FunctionOpInterface func, const StepGraph &graph);

  /// The argument whose chain `value` is in; null if it is in none. Arguments
  /// themselves are in their chains, futures are not.
  mlir::BlockArgument getParameter(mlir::Value value) const;
  /// True if `value` is in a chain, behind a gather.
  bool isGathered(mlir::Value value) const;
  /// True if `value` is made of constants alone.
  bool isConstant(mlir::Value value) const;
  /// The members of `gather` that gather a parameter, in order.
  llvm::SmallVector<unsigned> getMembers(AllGatherOp gather) const;

private:
  struct Link {
    /// Null for what is made of constants.
    mlir::BlockArgument parameter;
    bool isGathered = false;
  };

  const Link *lookup(mlir::Value value) const;
  void visit(mlir::Operation *op);
  void visitWait(WaitOp wait);

  llvm::DenseMap<mlir::Value, Link> links;
};

/// What people call a parameter: `tg.name` of the argument, or its number.
std::string getParameterName(mlir::FunctionOpInterface func,
                             mlir::BlockArgument parameter);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_CHAINS_PARAMETERCHAINS_H
