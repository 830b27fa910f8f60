//===- ShardingRule.h - How an operation splits over ranks ------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dimensions of an operation's tensors in terms of factors: an operand and
// a result that share a factor are split together. A GEMM of [m, k]
// and [k, n] has the factors m, k and n; a view from [b * s, w] to [b, s, w]
// has b, s and w, where the first dimension of the operand is (b, s), b being
// the outer one. The idea is that of Shardy's sharding rules
// (https://openxla.org/shardy/sharding_representation).
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_IR_SHARDINGRULE_H
#define REGATHER_DIALECT_TG_IR_SHARDINGRULE_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace regather::tg {

/// What splitting a factor does to the results that do not have it. Results
/// that have it are split, whatever the kind: a backward convolution splits the
/// gradient of its input along the batch, and gives a partial sum of that of
/// its weight.
enum class FactorKind {
  /// Every result has the factor: each rank computes its part.
  Parallel,
  /// The other results are sums over the factor: each rank's is a partial sum.
  Sum,
  /// They are means over the factor, whose parts are equally large.
  Mean,
  /// They are maxima, or minima, over the factor.
  Max,
  Min,
  /// The operation needs all of it, such as the dimension of a softmax.
  Whole,
};

struct ShardingFactor {
  int64_t size;
  FactorKind kind;
};

/// The tensor whose dimensions a rule describes: a ranked tensor, or the only
/// one in flight in a future. Null for everything else.
mlir::RankedTensorType getRuledTensor(mlir::Type type);

/// The factors of one dimension, from the outermost to the innermost; their
/// product is its size. Empty for a dimension of size 1, also where it is
/// broadcast along a larger one.
using DimFactors = llvm::SmallVector<unsigned, 2>;
/// The factors of one tensor, one list for each dimension. Empty for a scalar
/// and for an operand or result that has no tensor (see getRuledTensor).
using TensorFactors = llvm::SmallVector<DimFactors, 4>;

struct ShardingRule {
  llvm::SmallVector<ShardingFactor, 6> factors;
  /// One entry for each operand and for each result.
  llvm::SmallVector<TensorFactors, 3> operands;
  llvm::SmallVector<TensorFactors, 1> results;
  /// Sets of operands in which the operation is linear together, the others
  /// being fixed: `a + b` in {a, b}, `a * b` in {a} and in {b}, a view in its
  /// operand. If exactly the operands of one set are partial sums, so are the
  /// results. A narrowing cast is not linear: it rounds.
  llvm::SmallVector<llvm::SmallBitVector, 2> linear;
  /// Results, by number, that do not take part in the above: they stand for
  /// nothing on parts and must be unused for the rule to apply.
  llvm::SmallVector<unsigned, 1> unusable;
  /// Operands, by number, of which neither elements nor shape are read, only
  /// the type of the elements: any part of them will do. Their factors are of
  /// kind Whole.
  llvm::SmallVector<unsigned, 1> unread;

  /// The rule of an operation that needs everything whole: one factor of kind
  /// Whole for each dimension of each operand, no linear sets.
  static ShardingRule getWhole(mlir::Operation *op);

  /// True if nothing can be split and the operation is linear in nothing.
  bool isWhole() const;

  /// A new factor's number.
  unsigned addFactor(int64_t size, FactorKind kind = FactorKind::Parallel);

  /// Adds the set of these operands to `linear`.
  void addLinear(llvm::ArrayRef<unsigned> set);

  /// Fails if something is inconsistent: factors that do not multiply to the
  /// size of their dimension, a missing operand, a factor that a tensor has
  /// twice but that may be split, a parallel factor that a result lacks.
  llvm::LogicalResult verify(mlir::Operation *op) const;

  /// Prints the rule of a GEMM as
  /// `[a b], [b c] -> [a c] sum(b) linear(0) linear(1)`. Factors are named in
  /// the order in which they occur; `(a b)` is a dimension with two, `1` one
  /// with none. Kinds other than Parallel are listed behind.
  void print(llvm::raw_ostream &os) const;
};

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_IR_SHARDINGRULE_H
