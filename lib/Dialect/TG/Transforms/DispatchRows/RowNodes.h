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
      : PartNodes(communication), communication(communication),
        builder(communication.getBuilder()) {}

  /// The rows along `dim` that `numbers` has.
  mlir::Value take(mlir::Value value, int64_t dim, mlir::Value numbers);
  /// The rows along `dim` from `first` on, `count` of them.
  mlir::Value slice(mlir::Value value, int64_t dim, int64_t first,
                    int64_t count);
  /// first + step * i for each i below `count`.
  mlir::Value countFrom(int64_t first, int64_t step, int64_t count);
  /// The tensors behind each other along `dim`.
  mlir::Value concatenate(mlir::ValueRange parts, int64_t dim);
  /// Dimensions 0 and 1 the other way round, of a tensor with this shape.
  mlir::Value swapOuter(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  /// For each of `numbers`, how many of `keys`, in ascending order, are less.
  mlir::Value countBelow(mlir::Value keys, mlir::Value numbers);
  mlir::Value shift(mlir::Value numbers, int64_t by);
  mlir::Value multiply(mlir::Value numbers, int64_t by);
  /// `numbers` in ascending order along the last dimension, and where each was.
  std::pair<mlir::Value, mlir::Value> sort(mlir::Value numbers);
  /// values[i] at places[i], where `places` has all numbers below its size.
  mlir::Value place(mlir::Value values, mlir::Value places);

private:
  Communication &communication;
  mlir::OpBuilder &builder;
};

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_DISPATCHROWS_ROWNODES_H
