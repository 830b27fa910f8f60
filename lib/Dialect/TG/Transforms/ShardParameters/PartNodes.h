//===- PartNodes.h - Nodes that are carried out on parts --------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_PARTNODES_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_PARTNODES_H

#include "Communication.h"

#include "regather/Dialect/TG/Targets/NodeTargets.h"

namespace regather::tg::spmd {

/// Makes nodes where collectives are inserted, on behalf of the same operation.
class PartNodes {
public:
  explicit PartNodes(Communication &communication)
      : communication(communication), builder(communication.getBuilder()) {}

  mlir::Value make(NodeTarget target, mlir::RankedTensorType type,
                   mlir::ValueRange operands,
                   llvm::ArrayRef<mlir::Attribute> args = {});
  /// Of several results.
  llvm::SmallVector<mlir::Value>
  makeAll(NodeTarget target, mlir::TypeRange types, mlir::ValueRange operands,
          llvm::ArrayRef<mlir::Attribute> args = {});
  /// Of the operand's type.
  mlir::Value makeUnary(NodeTarget target, mlir::Value operand);
  /// Of two tensors that are broadcast to each other; the elements are those
  /// of the first.
  mlir::Value makeBinary(NodeTarget target, mlir::Value a, mlir::Value b);
  /// Compares with a number, or a tensor; gives booleans.
  mlir::Value compare(NodeTarget target, mlir::Value a, int64_t number);
  mlir::Value compare(NodeTarget target, mlir::Value a, mlir::Value b);
  /// `target` over one dimension, which stays with size one.
  mlir::Value reduce(NodeTarget target, mlir::Value operand, int64_t dim);
  /// `ifTrue` where the mask is true, a number elsewhere. The mask may be
  /// broadcast.
  mlir::Value select(mlir::Value mask, mlir::Value ifTrue, double otherwise);
  /// A tensor without dimensions.
  mlir::Value makeNumber(double number, mlir::Type element);
  mlir::Value makeZeros(mlir::RankedTensorType type);
  /// The first `count` multiples of `step`, as 64-bit integers.
  mlir::Value countBy(int64_t step, int64_t count);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);

private:
  mlir::Attribute operand(unsigned number) {
    return OperandAttr::get(builder.getContext(), number);
  }

  Communication &communication;
  mlir::OpBuilder &builder;
};

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_PARTNODES_H
