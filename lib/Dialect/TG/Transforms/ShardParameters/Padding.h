//===- Padding.h - What lies behind the end of uneven parts -----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A dimension that ranks do not divide is cut into equal parts, of which the
// last ones are padded. What an operation makes of padding stays padding, as
// long as each rank computes elements from its own. Sums over the dimension
// would count it: there it has to be zero. It is zero in arguments, and most
// operations keep it so. Behind the others it is replaced by a select, which
// joins the kernel of what it is about, and in front of a maximum it becomes
// -inf:
//
//   h = mm(x, w)               w is zero behind its end, so h is
//   s = zero(sigmoid(h))       which are halves otherwise
//   y = mm(h * s, v)           a sum over what is cut
//
// SplitSoftmax.h says what a softmax does with it.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_PADDING_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_PADDING_H

#include "Communication.h"
#include "FactorSplit.h"

namespace regather::tg::spmd {

/// True if parts of a value of type `global` that lie as `state` says have
/// padding on some rank.
bool hasPadding(mlir::Type global, const ValueState &state,
                const DataMesh &mesh);

/// True if padding of the results is zero, and adds nothing to sums, wherever
/// that of all operands is zero: each operand that is cut belongs to a set of
/// such ones in which the operation is linear, or it is a function that is zero
/// there. A quotient is none: 0 / 0.
bool keepsZeros(mlir::Operation *op, const ShardingRule &rule,
                const FactorSplit &split);

/// What padding of the operands has to be for `op` to ignore it where it
/// reduces the factor that is cut: zero in sums, -inf in maxima. Nothing if no
/// number is known.
std::optional<double> getIgnoredPadding(mlir::Operation *op,
                                        const ShardingRule &rule,
                                        const FactorSplit &split);

/// Replaces the padding of parts that lie alike. Costs nothing until it is
/// asked.
class PaddingMask {
public:
  /// Of parts of a tensor that has `size` elements along the dimension that
  /// `state` cuts.
  PaddingMask(const ValueState &state, int64_t size, const DataMesh &mesh,
              Communication &communication)
      : state(state), size(size), mesh(mesh), communication(communication) {}

  /// `part` with a number in the place of padding; `part` itself if no rank
  /// has any.
  mlir::Value replace(mlir::Value part, double number);

private:
  /// True for elements that are no padding, of the rank of `type` and of size
  /// one along all dimensions but that which is cut.
  mlir::Value getMask(mlir::RankedTensorType type);

  ValueState state;
  int64_t size;
  const DataMesh &mesh;
  Communication &communication;
  mlir::Value mask;
};

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_PADDING_H
