//===- WideParameters.h - Copies of parameters are shared -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An axis that cuts experts and the batch leaves all other parameters whole on
// each of its ranks, which have summands of their gradients. Such a parameter
// is sharded over these ranks as well: it is gathered over the shard axis and
// this one together, and so its gradient is reduced and scattered,
//
//   g = all_reduce(x) over ep; shard = reduce_scatter(g) over dp
//
// becomes
//
//   shard = reduce_scatter(x) over dp and ep
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_WIDEPARAMETERS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_WIDEPARAMETERS_H

#include "Step.h"

namespace regather::tg::spmd {

/// Of the parameters that are to lie in flat buffers, marks those as shared by
/// the wide ranks that all `copyAxes` of `mesh` leave whole and whose gradient,
/// if they have one, is summed over all of them; and takes these sums out of
/// the step, which leaves each rank its summand. Linear in the size of the
/// step.
void widenParameters(Step &step, const DataMesh &mesh);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_WIDEPARAMETERS_H
