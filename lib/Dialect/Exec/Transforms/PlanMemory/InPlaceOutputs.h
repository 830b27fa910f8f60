//===- InPlaceOutputs.h - Outputs in the places of inputs -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_EXEC_TRANSFORMS_PLANMEMORY_INPLACEOUTPUTS_H
#define REGATHER_LIB_DIALECT_EXEC_TRANSFORMS_PLANMEMORY_INPLACEOUTPUTS_H

#include "regather/Dialect/Exec/Analysis/ProgramAccesses.h"
#include "regather/Dialect/TG/Kernels/KernelInPlace.h"

namespace regather::exec {

/// Answers which outputs of an operation may overwrite its inputs.
class InPlaceOutputs {
public:
  explicit InPlaceOutputs(mlir::Operation *module) : pairs(module) {}

  /// True if `op` may write its output `output` to the memory of the buffer
  /// that `input` is, where both are whole buffers of equal size: whatever it
  /// reads of the one, it may overwrite by the other.
  bool allows(mlir::Operation *op, mlir::Value input, mlir::Value output);

  /// The same where `output` is a part of its buffer, for the same bytes of the
  /// buffer of `input`, which has the same size.
  bool allowsPart(mlir::Operation *op, mlir::Value input, mlir::Value output);

private:
  tg::InPlaceTable pairs;
};

} // namespace regather::exec

#endif // REGATHER_LIB_DIALECT_EXEC_TRANSFORMS_PLANMEMORY_INPLACEOUTPUTS_H
