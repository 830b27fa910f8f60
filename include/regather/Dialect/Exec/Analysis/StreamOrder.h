//===- StreamOrder.h - Events between the streams of a program --*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_EXEC_ANALYSIS_STREAMORDER_H
#define REGATHER_DIALECT_EXEC_ANALYSIS_STREAMORDER_H

#include "regather/Dialect/Exec/IR/Exec.h"

namespace regather::exec {

/// Emits the records and waits of a program while it is written, and none that
/// says what is known already.
///
/// A collective starts after everything that stream 0 was told to do before it:
/// so it may read what was computed, and write where something else lay. What
/// it gave is waited for on stream 0.
class StreamOrder {
public:
  /// The completion of a collective.
  struct Arrival {
    unsigned stream = 0;
    /// Counts the collectives of the stream, from 1 up.
    unsigned number = 0;
    mlir::Value event;
  };

  explicit StreamOrder(unsigned numStreams) : streams(numStreams) {}

  /// Something was issued on stream 0.
  void addCompute() {
    hasComputed = true;
    recorded = nullptr;
  }
  /// Makes `stream` wait for stream 0.
  void beginCollective(mlir::OpBuilder &builder, mlir::Location loc,
                       unsigned stream);
  Arrival endCollective(mlir::OpBuilder &builder, mlir::Location loc,
                        unsigned stream);
  /// Makes stream 0 wait for a collective.
  void waitFor(mlir::OpBuilder &builder, mlir::Location loc,
               const Arrival &arrival);

  /// What is known at the start of a region: what was known before it, but
  /// events from outside are out of sight.
  StreamOrder enterRegion() const;
  /// Makes stream 0 wait for all that the region has started.
  void leaveRegion(mlir::OpBuilder &builder, mlir::Location loc);

private:
  struct Stream {
    unsigned issued = 0;
    /// Stream 0 has waited for so many of them.
    unsigned known = 0;
    /// Waits for the last record of stream 0.
    bool isUpToDate = false;
    Arrival last;
  };

  llvm::SmallVector<Stream> streams;
  bool hasComputed = false;
  /// The event of all that stream 0 has been told, if it was recorded.
  mlir::Value recorded;
};

} // namespace regather::exec

#endif // REGATHER_DIALECT_EXEC_ANALYSIS_STREAMORDER_H
