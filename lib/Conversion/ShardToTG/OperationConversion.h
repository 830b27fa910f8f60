//===- OperationConversion.h - Operations of shard as tg --------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_CONVERSION_SHARDTOTG_OPERATIONCONVERSION_H
#define REGATHER_LIB_CONVERSION_SHARDTOTG_OPERATIONCONVERSION_H

#include "ShardGrids.h"

namespace regather::shardtotg {

/// Emits an error if tg has nothing to express an operation of the shard
/// dialect with. Grids are checked by `buildMesh`, and before this.
llvm::LogicalResult checkOperation(mlir::Operation *op,
                                   mlir::SymbolTableCollection &tables);

/// Replaces a checked operation, other than a grid, all of whose users in the
/// shard dialect were replaced before. Returns the number of collectives built.
int64_t convertOperation(mlir::Operation *op, const AxisNames &names,
                         mlir::SymbolTableCollection &tables);

} // namespace regather::shardtotg

#endif // REGATHER_LIB_CONVERSION_SHARDTOTG_OPERATIONCONVERSION_H
