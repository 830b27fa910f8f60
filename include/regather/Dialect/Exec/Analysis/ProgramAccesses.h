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

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"

namespace regather::exec {

/// By stream, true if it does nothing but copy between device and host, all in
/// one block: such operations of one stream run one after the other.
llvm::BitVector findCopyStreams(ProgramOp program);

/// Buffers that are looked at part by part: for each, the offsets in bytes at
/// which a part begins behind another one, ascending.
using BufferCuts = llvm::MapVector<mlir::Value, std::vector<int64_t>>;

/// The operations of a program, each with the buffers that it touches. Buffers
/// are the slices, in the order of the program, and then the arguments. An
/// operation with regions is one step on stream 0, apart from a graph, which
/// counts as what it holds.
class ProgramAccesses {
public:
  /// Each part of a buffer that `cuts` names counts as a buffer. Parts are
  /// numbered one after the other.
  explicit ProgramAccesses(ProgramOp program, BufferCuts cuts = BufferCuts());

  /// Empty, after an error, if an access is not ordered after the first write.
  llvm::FailureOr<std::vector<BufferLifetime>> computeLifetimes();

  /// Slices, slices of the host, and arguments; once for each part.
  llvm::ArrayRef<mlir::Value> getBuffers() const { return buffers; }
  /// The buffer that `value` is, or is a view of, or the first part of that;
  /// nothing for a constant.
  std::optional<uint32_t> getNumber(mlir::Value value) const;
  /// The operations in the order of the program; their index is their step.
  llvm::ArrayRef<mlir::Operation *> getOps() const { return ops; }

private:
  void addBuffer(mlir::Value value);
  void addPlaces(mlir::Value value, std::vector<uint32_t> &list) const;
  void addOp(mlir::Operation *op);
  void addAccesses(mlir::Operation *op, StreamOp &step);

  ProgramOp program;
  BufferCuts cuts;
  StreamProgram stream;
  llvm::SmallVector<mlir::Value> buffers;
  llvm::DenseMap<mlir::Value, uint32_t> numbers;
  llvm::DenseMap<mlir::Value, uint32_t> events;
  llvm::SmallVector<mlir::Operation *> ops;
};

} // namespace regather::exec

#endif // REGATHER_DIALECT_EXEC_ANALYSIS_PROGRAMACCESSES_H
