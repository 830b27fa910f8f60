//===- Exec.h - The exec dialect --------------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations, attributes, types and interfaces of the exec dialect. See
// ExecBase.td for what the dialect means.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_EXEC_IR_EXEC_H
#define REGATHER_DIALECT_EXEC_IR_EXEC_H

#include "regather/Dialect/TG/IR/TG.h"

namespace regather::exec {

/// True for a memref of static shape, row-major without gaps, in the default
/// memory space, of integers, floats or `index`.
bool isBuffer(mlir::Type type);

/// True for a buffer of rank 0.
bool isScalarBuffer(mlir::Type type);

/// True for a buffer but for its memory space, which is that of the host.
bool isHostBuffer(mlir::Type type);

/// Size in bytes; an i1 takes one byte, an `index` eight.
int64_t getElementBytes(mlir::Type element);
int64_t getBufferBytes(mlir::MemRefType type);

/// The tensor that a buffer holds.
mlir::RankedTensorType getTensorType(mlir::MemRefType type);

} // namespace regather::exec

#include "regather/Dialect/Exec/IR/ExecDialect.h.inc"
#include "regather/Dialect/Exec/IR/ExecEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "regather/Dialect/Exec/IR/ExecAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "regather/Dialect/Exec/IR/ExecTypes.h.inc"

#include "regather/Dialect/Exec/IR/ExecInterfaces.h.inc"

#define GET_OP_CLASSES
#include "regather/Dialect/Exec/IR/ExecOps.h.inc"

namespace regather::exec {

/// Where a buffer lies: `offset` bytes after the beginning of `base`, which is
/// a slice, a constant, a destination or an argument of the program.
struct BufferPlace {
  mlir::Value base;
  int64_t offset = 0;
};

/// Follows the views of `buffer` to what it is a part of.
BufferPlace getPlace(mlir::Value buffer);

} // namespace regather::exec

#endif // REGATHER_DIALECT_EXEC_IR_EXEC_H
