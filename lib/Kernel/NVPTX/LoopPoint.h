//===- LoopPoint.h - What an operation computes at a point ------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_NVPTX_LOOPPOINT_H
#define REGATHER_LIB_KERNEL_NVPTX_LOOPPOINT_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace regather::nvptx {

/// Builds what a linalg operation between buffers does at one point of its
/// loops, or at a few consecutive points, whose elements are read and written
/// at once where that is possible.
class LoopPoint {
public:
  /// Points that are built side by side, at most.
  static constexpr int64_t kMaxWidth = 8;

  LoopPoint(mlir::linalg::LinalgOp op, mlir::ImplicitLocOpBuilder &b)
      : op(op), b(b), sizes(op.getStaticLoopRanges()) {}

  /// How many consecutive points of `loop` can share accesses of up to 16
  /// bytes; 1 if no operand allows it.
  int64_t findWidth(unsigned loop);

  /// From now on, `width` points from the given one on along `loop` are built.
  void setWidth(unsigned loop, int64_t width) {
    wideLoop = loop;
    this->width = width;
  }

  /// Builds the bodies at the points from `indices` on, without the operation
  /// `skipped`. `carried` are the previous values of the results; without them,
  /// they are read where they are used. `known` is an operand that has been
  /// read, and its element. Returns, by point, what the values of the body have
  /// become.
  llvm::SmallVector<mlir::IRMapping>
  emitBodies(llvm::ArrayRef<mlir::Value> indices, mlir::ValueRange carried = {},
             mlir::Operation *skipped = nullptr,
             std::pair<mlir::OpOperand *, mlir::Value> known = {});

  /// Writes the results of the bodies.
  void emitStores(llvm::ArrayRef<mlir::Value> indices,
                  llvm::ArrayRef<mlir::IRMapping> bodies);

  /// Element of `operand` at a point.
  mlir::Value emitLoad(mlir::OpOperand &operand,
                       llvm::ArrayRef<mlir::Value> indices);
  void emitStore(mlir::OpOperand &operand, llvm::ArrayRef<mlir::Value> indices,
                 mlir::Value value);

  llvm::ArrayRef<int64_t> getSizes() const { return sizes; }
  mlir::Value makeIndex(int64_t value);

private:
  /// Copies the operations of a block for all points. A loop whose bounds are
  /// the same at all points is built once for all of them, so that their reads
  /// lie side by side.
  void cloneTogether(mlir::Block &block,
                     llvm::MutableArrayRef<mlir::IRMapping> maps,
                     mlir::Operation *skipped);
  void cloneLoopTogether(mlir::scf::ForOp loop,
                         llvm::MutableArrayRef<mlir::IRMapping> maps);
  bool isContiguous(mlir::OpOperand &operand, unsigned loop);
  bool isWide(mlir::OpOperand &operand);
  llvm::SmallVector<mlir::Value> getPlace(mlir::OpOperand &operand,
                                          llvm::ArrayRef<mlir::Value> indices);
  llvm::SmallVector<mlir::Value> shift(llvm::ArrayRef<mlir::Value> indices,
                                       int64_t steps);
  llvm::SmallVector<mlir::Value> emitWideLoad(mlir::OpOperand &operand,
                                              llvm::ArrayRef<mlir::Value>);

  mlir::linalg::LinalgOp op;
  mlir::ImplicitLocOpBuilder &b;
  llvm::SmallVector<int64_t> sizes;
  unsigned wideLoop = 0;
  int64_t width = 1;
};

} // namespace regather::nvptx

#endif // REGATHER_LIB_KERNEL_NVPTX_LOOPPOINT_H
