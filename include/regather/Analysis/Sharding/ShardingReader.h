//===- ShardingReader.h - Problems as JSON ----------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_SHARDING_SHARDINGREADER_H
#define REGATHER_ANALYSIS_SHARDING_SHARDINGREADER_H

#include "regather/Analysis/Sharding/ShardingProblem.h"
#include "llvm/ADT/StringRef.h"

namespace regather {

/// Reads a problem in the format of the ASPLOS 2025 contest on intra-operator
/// parallelism: an object `problem` with `nodes` (lists `intervals`, `costs`,
/// `usages`), `edges` (lists `nodes`, `costs`) and, optionally, `usage_limit`.
/// An edge of one node, or from a node to itself, is allowed; one of three is
/// refused. Failures name the node or edge. Linear in the size of the text,
/// about 40 bytes of memory a number.
Result<ShardingProblem> readShardingProblem(llvm::StringRef json);

} // namespace regather

#endif // REGATHER_ANALYSIS_SHARDING_SHARDINGREADER_H
