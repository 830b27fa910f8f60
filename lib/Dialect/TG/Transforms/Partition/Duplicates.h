//===- Duplicates.h - Merge what is computed twice --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_PARTITION_DUPLICATES_H
#define REGATHER_DIALECT_TG_TRANSFORMS_PARTITION_DUPLICATES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace regather::tg::partition {

/// Replaces nodes and collectives of `step` that compute what an earlier one
/// does, in whatever phase, as `fx_graph_cse` of PyTorch 2.13 does before it
/// partitions. The earlier one keeps its marks, and those of the other are
/// gone. Random nodes, and what shares memory with a result of the step, stay.
void mergeDuplicates(mlir::func::FuncOp step);

} // namespace regather::tg::partition

#endif // REGATHER_DIALECT_TG_TRANSFORMS_PARTITION_DUPLICATES_H
