//===- ProgramAccesses.h - What a program touches and when ------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_EXEC_ANALYSIS_PROGRAMACCESSES_H
#define REGATHER_DIALECT_EXEC_ANALYSIS_PROGRAMACCESSES_H

#include "regather/Analysis/MemoryPlanner/BufferLifetimes.h"
#include "regather/Dialect/Exec/IR/Exec.h"

namespace regather::exec {

/// The operations of a program, each with the buffers that it touches. Buffers
/// are the slices, in the order of the program, and then the arguments. An
/// operation with regions is one step on stream 0, apart from a graph, which
/// counts as what it holds.
class ProgramAccesses {
public:
  explicit ProgramAccesses(ProgramOp program);

  /// Empty, after an error, if an access is not ordered after the first write.
  llvm::FailureOr<std::vector<BufferLifetime>> computeLifetimes();

  /// Slices, slices of the host, and arguments.
  llvm::ArrayRef<mlir::Value> getBuffers() const { return buffers; }
  /// The buffer that `value` is, or is a view of; nothing for a constant.
  std::optional<uint32_t> getNumber(mlir::Value value) const;
  /// The operations in the order of the program; their index is their step.
  llvm::ArrayRef<mlir::Operation *> getOps() const { return ops; }

private:
  void addBuffer(mlir::Value value);
  void addOp(mlir::Operation *op);
  void addAccesses(mlir::Operation *op, StreamOp &step);

  ProgramOp program;
  StreamProgram stream;
  llvm::SmallVector<mlir::Value> buffers;
  llvm::DenseMap<mlir::Value, uint32_t> numbers;
  llvm::DenseMap<mlir::Value, uint32_t> events;
  llvm::SmallVector<mlir::Operation *> ops;
};

} // namespace regather::exec

#endif // REGATHER_DIALECT_EXEC_ANALYSIS_PROGRAMACCESSES_H
