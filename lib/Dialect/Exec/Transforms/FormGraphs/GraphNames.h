//===- GraphNames.h - Which graph an operation is for -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_EXEC_TRANSFORMS_FORMGRAPHS_GRAPHNAMES_H
#define REGATHER_LIB_DIALECT_EXEC_TRANSFORMS_FORMGRAPHS_GRAPHNAMES_H

#include "regather/Dialect/Exec/IR/Exec.h"
#include "regather/Dialect/Exec/Transforms/Passes.h"

namespace regather::exec {

/// The kinds of graphs that a program is to have, by number.
struct GraphNames {
  /// Such as `layers.0.attention.forward`.
  std::vector<std::string> names;
  llvm::DenseMap<mlir::Operation *, unsigned> numbers;

  std::optional<unsigned> getNumber(mlir::Operation *op) const {
    auto it = numbers.find(op);
    return it == numbers.end() ? std::nullopt : std::optional(it->second);
  }
};

/// Names the graphs of the operations of stream 0, by unit or by the modules
/// that `patterns` match. Emits an error for a pattern without a match, and for
/// control flow that belongs to one of the modules: the host decides it.
mlir::FailureOr<GraphNames> nameGraphs(ProgramOp program, GraphMode mode,
                                       llvm::ArrayRef<std::string> patterns);

/// Emits an error for control flow anywhere in the program.
mlir::LogicalResult verifyNoControlFlow(ProgramOp program);

} // namespace regather::exec

#endif // REGATHER_LIB_DIALECT_EXEC_TRANSFORMS_FORMGRAPHS_GRAPHNAMES_H
