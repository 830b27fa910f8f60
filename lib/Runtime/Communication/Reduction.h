//===- Reduction.h - Reductions in rank order -------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Combines the contributions of several ranks to a run of elements:
//
//   acc = c[0]; for i in 1..n-1: acc = acc op c[i]; result = round(acc)
//
// in the accumulation type and always in this order, so that the bits do not
// depend on how a tensor was cut into runs.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_COMMUNICATION_REDUCTION_H
#define REGATHER_LIB_RUNTIME_COMMUNICATION_REDUCTION_H

#include "regather/Runtime/Runtime.h"

#include <vector>

namespace regather::runtime {

/// How a run is reduced; `accumulate` may be RG_DTYPE_AUTO and is ignored for
/// integers. The combination was checked by `readCollective`.
struct ReductionType {
  rg_reduction reduction;
  rg_dtype dtype;
  rg_dtype accumulate;
};

/// Reduces `count` elements of each of `sources` and writes the result to each
/// of `targets`. A target may be equal to a source, else they are disjoint.
void reduceRun(const ReductionType &type,
               const std::vector<const char *> &sources,
               const std::vector<char *> &targets, int64_t count);

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_COMMUNICATION_REDUCTION_H
