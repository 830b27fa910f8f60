//===- Scatter.h - Writing at places that data decide -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_CONVERSION_TGNODESTOLINALG_SCATTER_H
#define REGATHER_LIB_CONVERSION_TGNODESTOLINALG_SCATTER_H

#include "StructuredOps.h"

namespace regather::nodes {

/// Writes row i of `values` to row `rows[i]` of `self`, both seen as rows of
/// `width` elements, or adds it there, for i from the first to the last: the
/// order of sums is fixed, and of several rows written to one place the last
/// stays. Sums of narrow floats are accumulated in f32.
Tensor scatterInto(B &b, Tensor self, Tensor rows, Tensor values, int64_t width,
                   bool accumulate);

/// The same, with `combine` of the old row and the new one, by element.
Tensor combineInto(B &b, Tensor self, Tensor rows, Tensor values, int64_t width,
                   ElementFn combine);

} // namespace regather::nodes

#endif // REGATHER_LIB_CONVERSION_TGNODESTOLINALG_SCATTER_H
