//===- ElasticSums.h - Order of sums over the batch -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_VERIFYSTEP_ELASTICSUMS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_VERIFYSTEP_ELASTICSUMS_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace regather::tg {

/// Checks of an elastic step that sums over the batch, and over what an elastic
/// axis of the model cuts, are those of the tree: no collective sums, which
/// would be in the order of the ranks, no operation sums more than one segment,
/// what adds two sums adds siblings, and a sum is whole before anything rounds
/// or returns it. Follows kernels as if their operations stood where they are
/// launched. Linear in the operations that run.
mlir::LogicalResult verifyElasticSums(mlir::FunctionOpInterface func);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_TRANSFORMS_VERIFYSTEP_ELASTICSUMS_H
