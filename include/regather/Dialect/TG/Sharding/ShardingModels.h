//===- ShardingModels.h - Sharding rules of operations ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_SHARDING_SHARDINGMODELS_H
#define REGATHER_DIALECT_TG_SHARDING_SHARDINGMODELS_H

#include "mlir/IR/DialectRegistry.h"

namespace regather::tg {

/// Gives `tg.node` and the operations of linalg, tensor and arith a
/// ShardingRuleOpInterface.
void registerShardingExternalModels(mlir::DialectRegistry &registry);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_SHARDING_SHARDINGMODELS_H
