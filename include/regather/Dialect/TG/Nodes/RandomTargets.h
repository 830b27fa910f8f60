//===- RandomTargets.h - Nodes that draw random numbers ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A `tg.node` is a function of its operands, so one whose target draws random
// numbers takes the bits that it draws from as the argument `bits`: a tensor of
// the shape of its first result, made by `tg.random`.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_NODES_RANDOMTARGETS_H
#define REGATHER_DIALECT_TG_NODES_RANDOMTARGETS_H

#include "mlir/IR/BuiltinTypes.h"

namespace regather::nodes {

/// Name of the argument that holds the bits.
inline constexpr llvm::StringLiteral kBitsName = "bits";

/// True if the operator, in whatever overload, draws random numbers.
bool isRandomTarget(llvm::StringRef target);

/// The type of the bits that a node draws whose first result is of type
/// `result`. Null if no numbers are defined for the target.
mlir::RankedTensorType getBitsType(llvm::StringRef target,
                                   mlir::RankedTensorType result);

} // namespace regather::nodes

#endif // REGATHER_DIALECT_TG_NODES_RANDOMTARGETS_H
