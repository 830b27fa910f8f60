//===- BodyLinearity.h - In which arguments a body is linear ----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_SHARDING_BODYLINEARITY_H
#define REGATHER_LIB_DIALECT_TG_SHARDING_BODYLINEARITY_H

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/SmallVector.h"

namespace regather::tg::sharding {

/// Sets of values that something is linear in, the others being fixed.
using LinearSets = llvm::SmallVector<llvm::SmallBitVector, 2>;

/// Derives what an operation on scalars is linear in from what its operands
/// are. A product is linear in what one factor is linear in and the other does
/// not depend on; a sum in the union of what each side is linear in.
class BodyLinearity {
public:
  /// Analyses a block in time linear in its size. Bit i of a set is argument i.
  explicit BodyLinearity(mlir::Block &body);

  /// The sets in which `value`, which the body sees, is linear.
  LinearSets getSets(mlir::Value value) const;
  /// True if `value` depends on an argument of the set.
  bool dependsOn(mlir::Value value, const llvm::SmallBitVector &set) const;

private:
  struct Info {
    LinearSets sets;
    llvm::SmallBitVector dependencies;
  };
  void visit(mlir::Operation &op);
  const Info &lookup(mlir::Value value) const;
  LinearSets getProduct(const Info &lhs, const Info &rhs) const;
  LinearSets getSum(const Info &lhs, const Info &rhs) const;

  unsigned numArguments;
  Info fixed;
  llvm::DenseMap<mlir::Value, Info> infos;
};

/// The sets that are in both lists.
LinearSets intersect(const LinearSets &lhs, const LinearSets &rhs);

} // namespace regather::tg::sharding

#endif // REGATHER_LIB_DIALECT_TG_SHARDING_BODYLINEARITY_H
