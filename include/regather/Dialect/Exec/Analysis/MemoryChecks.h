//===- MemoryChecks.h - Races and lost values in programs -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_EXEC_ANALYSIS_MEMORYCHECKS_H
#define REGATHER_DIALECT_EXEC_ANALYSIS_MEMORYCHECKS_H

#include "regather/Dialect/Exec/IR/Exec.h"

namespace regather::exec {

/// Follows every byte through the program and checks that
///
/// - what is read was written before, to the same buffer, on every way to the
///   reader: no two buffers that are in use at one time share a byte;
/// - an operation that reads, or overwrites, what an operation on another
///   stream has written or read comes after it, by events: nothing in flight is
///   touched;
/// - an operation writes over its own operands only where it may, and neither
///   constants nor arguments that are not donated are written to;
/// - nothing that a region has started is in flight when it ends.
///
/// Takes nothing from the planner. Slices without places are taken to lie apart
/// from each other. Near-linear: O(log n) for each operand, and for each buffer
/// that a part of it held before. Emits an error for the first fault of the
/// program.
llvm::LogicalResult verifyMemory(ProgramOp program);

/// Lets `tg-verify-step` check the memory of an `exec.program`.
void registerMemoryChecks(mlir::DialectRegistry &registry);

} // namespace regather::exec

#endif // REGATHER_DIALECT_EXEC_ANALYSIS_MEMORYCHECKS_H
