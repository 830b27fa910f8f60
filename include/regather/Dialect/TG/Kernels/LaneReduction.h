//===- LaneReduction.h - The order of a reduction ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum of floats depends on the order of its terms. All engines add those of
// an innermost loop of n steps in this order, which vectors of any width can
// follow:
//
//   lane[0..31] = 0
//   for i in 0..n: lane[i % 32] += term[i]
//   for w in 16, 8, 4, 2, 1:
//     for l in 0..w: lane[l] += lane[l + w]
//   result = initial + lane[0]
//
// Short loops, and loops that are not innermost, run in the order of their
// steps.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_KERNELS_LANEREDUCTION_H
#define REGATHER_DIALECT_TG_KERNELS_LANEREDUCTION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace regather::tg {

inline constexpr int64_t kReductionLanes = 32;

/// Steps below which a loop keeps its order.
inline constexpr int64_t kMinLaneSteps = 2 * kReductionLanes;

struct LaneReduction {
  /// The loop that runs in lanes; those inside of it have one step.
  unsigned loop;
  /// `arith.addf`, or `arith.maximumf` or `arith.minimumf`, whose order does
  /// not matter.
  mlir::Operation *combiner;
  /// The operand of the combiner that is not what was there.
  unsigned term;
};

/// The reduction of an operation with one result, if it runs in lanes. Depends
/// on sizes and on how terms are combined, not on how they are computed.
std::optional<LaneReduction> matchLaneReduction(mlir::linalg::LinalgOp op);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_KERNELS_LANEREDUCTION_H
