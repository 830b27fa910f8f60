//===- NodeViews.h - What surrounds the node of a call ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that a library computes by one node holds, beside it, views of what
// the node reads and views of what it gives. Here they become views of the
// kernel's inputs and outputs.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_LIBRARY_NODEVIEWS_H
#define REGATHER_LIB_DIALECT_TG_LIBRARY_NODEVIEWS_H

#include "StridedView.h"

#include "regather/Dialect/TG/IR/TG.h"

namespace regather::tg::library {

class NodeViews {
public:
  /// False if a shape is dynamic.
  bool start(mlir::ValueRange inputs, mlir::ValueRange outputs);

  /// Lets results of `node` be what outputs are views of.
  void setNode(NodeOp node);
  NodeOp getNode() const { return node; }

  /// Reads an operation that only makes views. Returns why there is none; empty
  /// if it was read.
  llvm::StringRef readViews(mlir::Operation *op);

  /// What the node reads, as a view of an input; null if an operation between
  /// them computes it.
  const StridedView *getInput(mlir::Value value) const;
  /// A view of an input as an attribute.
  BufferViewAttr describeInput(const StridedView &view) const;

  /// The result of the node that an output is all of; nothing if it is none.
  std::optional<unsigned> getResult(mlir::Value output) const;
  /// The elements of that result, in its shape, as a view of the output;
  /// nothing if no strides describe them.
  std::optional<StridedView> getOutput(mlir::Value output) const;
  /// A view of output `number` as an attribute.
  BufferViewAttr describeOutput(const StridedView &view, size_t number) const;

private:
  /// A view of a result of the node.
  struct Chain {
    unsigned result;
    llvm::SmallVector<ViewTransform, 4> transforms;
  };

  mlir::ValueRange inputs;
  llvm::DenseMap<mlir::Value, StridedView> views;
  llvm::DenseMap<mlir::Value, Chain> chains;
  NodeOp node;
};

} // namespace regather::tg::library

#endif // REGATHER_LIB_DIALECT_TG_LIBRARY_NODEVIEWS_H
