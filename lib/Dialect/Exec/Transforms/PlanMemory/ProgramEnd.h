//===- ProgramEnd.h - Where a program does its last copies ------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_EXEC_TRANSFORMS_PLANMEMORY_PROGRAMEND_H
#define REGATHER_LIB_DIALECT_EXEC_TRANSFORMS_PLANMEMORY_PROGRAMEND_H

#include "regather/Dialect/Exec/IR/Exec.h"

#include "mlir/IR/Builders.h"

namespace regather::exec {

/// Builds on stream 0 at the end of a program, when nothing is in flight any
/// more; in the graph that holds everything the program does, if there is one.
mlir::OpBuilder buildAtEnd(ProgramOp program);

} // namespace regather::exec

#endif // REGATHER_LIB_DIALECT_EXEC_TRANSFORMS_PLANMEMORY_PROGRAMEND_H
