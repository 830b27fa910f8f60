//===- Scans.h - Values along a dimension from those before -----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_CONVERSION_TGNODESTOLINALG_SCANS_H
#define REGATHER_LIB_CONVERSION_TGNODESTOLINALG_SCANS_H

#include "StructuredOps.h"

namespace regather::nodes {

/// Combines the elements along `dim` one after the other, from `start` on:
/// element i of the result is made of elements 0 to i of `source`. `fn` gets
/// what was combined before and the next element, both in the type of `start`;
/// the result is in type `element`.
Tensor scan(B &b, Tensor source, int64_t dim, mlir::TypedAttr start,
            mlir::Type element, ElementFn fn);

} // namespace regather::nodes

#endif // REGATHER_LIB_CONVERSION_TGNODESTOLINALG_SCANS_H
