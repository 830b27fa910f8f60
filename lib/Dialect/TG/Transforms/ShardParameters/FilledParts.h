//===- FilledParts.h - Tensors of one number in other shapes ----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_FILLEDPARTS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_FILLEDPARTS_H

#include "Communication.h"

namespace regather::tg::spmd {

/// Elements as those of `filled`, a node that makes them all equal or leaves
/// them undefined, in a tensor of type `type`. `operands` stand for those of
/// the node.
mlir::Value buildFilled(Communication &communication, NodeOp filled,
                        mlir::ValueRange operands, mlir::RankedTensorType type);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_FILLEDPARTS_H
