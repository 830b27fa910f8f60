//===- Boundary.h - Check what backward reads of forward --------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_VERIFYSTEP_BOUNDARY_H
#define REGATHER_DIALECT_TG_TRANSFORMS_VERIFYSTEP_BOUNDARY_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace regather::tg {

/// Checks that a collective and its wait have no opposite marks, and that no
/// parameter that `tg.reshard` releases lives on to backward; with
/// `checkPolicies`, or where values are saved for another function, also that
/// no value lives on that must be recomputed. Linear in the size of the
/// function.
mlir::LogicalResult verifyBoundary(mlir::FunctionOpInterface func,
                                   bool checkPolicies);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_TRANSFORMS_VERIFYSTEP_BOUNDARY_H
