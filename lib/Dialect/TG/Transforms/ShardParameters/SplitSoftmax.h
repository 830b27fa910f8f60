//===- SplitSoftmax.h - Softmax of rows that ranks share --------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A softmax, its logarithm, and their gradients need a dimension whole. Where
// ranks have parts of it, they reduce two numbers of each row, the largest and
// the sum of exponentials, or one in backward, instead of gathering it:
//
//   m = max(x)               over all ranks
//   s = sum(exp(x - m))      over all ranks
//   log_softmax = x - m - log(s),  softmax = exp(x - m) / s
//
// Where ranks do not divide the dimension, padding is -inf for the maximum and
// zero in the sum.
//
// That is how Megatron computes the cross entropy of parts of a vocabulary:
// https://arxiv.org/abs/1909.08053, section 3.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_SPLITSOFTMAX_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_SPLITSOFTMAX_H

#include "Padding.h"
#include "PartNodes.h"

namespace regather::tg::spmd {

/// A softmax, or the gradient of one.
struct Softmax {
  NodeOp node;
  int64_t dim;
  bool isLogarithm, isBackward;
  /// Numbers of the operands: the input, or in backward the gradient and the
  /// result of forward.
  llvm::SmallVector<unsigned, 2> operands;
};

std::optional<Softmax> matchSoftmax(mlir::Operation *op);

/// What padding of an operand has to be before it is used: zero in gradients,
/// and in the softmax itself where its gradient multiplies by it.
inline bool needsZeroPadding(const Softmax &softmax, unsigned operand) {
  return softmax.isBackward && (operand == 0 || !softmax.isLogarithm);
}

/// The same of the result: anything in the logarithm, zero in all else.
inline bool hasZeroPadding(const Softmax &softmax) {
  return softmax.isBackward || !softmax.isLogarithm;
}

/// The rank's part of the result, of its parts of the operands, which are cut
/// along `dim` over `axes`. What rows share is reduced over as many `segments`
/// of a part, as a tree.
mlir::Value buildSoftmax(const Softmax &softmax, mlir::ValueRange parts,
                         PaddingMask &padding, AxesAttr axes, int64_t segments,
                         Communication &communication);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_SPLITSOFTMAX_H
