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

/// Checks of an elastic step that no collective sums, which would be in the
/// order of the ranks, and that no operation sums more of the batch than one
/// segment. Kernels are not looked into: their operations have been checked
/// before they were formed. Linear in the size of the function.
mlir::LogicalResult verifyElasticSums(mlir::FunctionOpInterface func);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_TRANSFORMS_VERIFYSTEP_ELASTICSUMS_H
