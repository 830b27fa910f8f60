//===- ZeroTensors.h - Tensors of zeros -------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_NODES_ZEROTENSORS_H
#define REGATHER_DIALECT_TG_NODES_ZEROTENSORS_H

#include "mlir/IR/Value.h"

namespace regather::tg {

/// True if `value` is known to be full of zeros: a node, an operation of linalg
/// or a constant. Looks at its definition only.
bool isZero(mlir::Value value);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_NODES_ZEROTENSORS_H
