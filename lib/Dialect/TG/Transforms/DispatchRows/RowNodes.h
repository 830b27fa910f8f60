//===- RowNodes.h - Nodes that move and count rows --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_DISPATCHROWS_ROWNODES_H
#define REGATHER_DIALECT_TG_TRANSFORMS_DISPATCHROWS_ROWNODES_H

#include "../ShardParameters/PartNodes.h"

namespace regather::tg::spmd {

/// Nodes on rows, and on their numbers: integers of 64 bits.
class RowNodes : public PartNodes {
public:
  explicit RowNodes(Communication &communication)
      : PartNodes(communication), builder(communication.getBuilder()) {}

  /// The rows along `dim` that `numbers` has.
  mlir::Value take(mlir::Value value, int64_t dim, mlir::Value numbers);
  /// The rows along `dim` from `first` on, `count` of them.
  mlir::Value slice(mlir::Value value, int64_t dim, int64_t first,
                    int64_t count);
  /// For each of `numbers`, how many of `keys`, in ascending order, are less.
  mlir::Value countBelow(mlir::Value keys, mlir::Value numbers);
  mlir::Value shift(mlir::Value numbers, int64_t by);
  mlir::Value multiply(mlir::Value numbers, int64_t by);
  /// `numbers` in ascending order, and where each was.
  std::pair<mlir::Value, mlir::Value> sort(mlir::Value numbers);
  /// values[i] at places[i], where `places` has all numbers below its size.
  mlir::Value place(mlir::Value values, mlir::Value places);

private:
  mlir::OpBuilder &builder;
};

/// Slots in the order of their experts; those without a row come last.
class SortedSlots {
public:
  /// `received`: by slot, the number of its expert among the rank's `own`, or
  /// `own` where it has no row: [slots].
  void sort(mlir::Value received, int64_t own, RowNodes &nodes);

  /// Behind the last slot of each of the rank's experts: [own] of this type.
  mlir::Value getEnds(mlir::Type element, RowNodes &nodes,
                      Communication &communication);
  /// The slot at each place of the order: [slots].
  mlir::Value getOrder() const { return order; }
  /// True for those with a row: [slots].
  mlir::Value getMask() const { return mask; }

private:
  int64_t own = 0;
  mlir::Value ids, order, mask;
  llvm::DenseMap<mlir::Type, mlir::Value> ends;
};

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_DISPATCHROWS_ROWNODES_H
