//===- RoutineMatcher.h - Kernels that are one node -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the matchers of attention, convolutions and grouped GEMMs have in
// common: a library computes such a kernel if it is one node and views.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_LIBRARY_ROUTINEMATCHER_H
#define REGATHER_LIB_DIALECT_TG_LIBRARY_ROUTINEMATCHER_H

#include "NodeViews.h"

namespace regather::tg::library {

/// A kernel as matchers take it.
struct KernelContents {
  explicit KernelContents(KernelOp kernel);

  llvm::SmallVector<mlir::Operation *> ops;
  mlir::ValueRange inputs, outputs;
};

class RoutineMatcher {
public:
  virtual ~RoutineMatcher() = default;

protected:
  /// Reads the node, with `readNode`, the views before and behind it, and the
  /// outputs, with `addOutput`. False, with a reason, if the kernel is
  /// something else.
  bool read(llvm::ArrayRef<mlir::Operation *> ops, mlir::ValueRange inputs,
            mlir::ValueRange outputs);

  /// True for a node that the library computes, whatever its arguments are.
  virtual bool isRoutine(mlir::Operation *op) const = 0;
  virtual bool readNode(NodeOp node) = 0;
  virtual bool addOutput(unsigned number, mlir::Value output) = 0;

  /// Returns false, so that what fails can return it. The first reason stays.
  bool fail(llvm::StringRef why) {
    if (reason.empty())
      reason = why;
    return false;
  }
  /// What the node reads, as a view of an input; null, having failed, if an
  /// operation before the node computes it.
  const StridedView *findInput(mlir::Value value);
  /// Fails for numbers that routines do not compute with in f32.
  bool checkElement(mlir::Value tensor);

  NodeViews views;
  /// Why the kernel does not match; static text.
  llvm::StringRef reason;
};

} // namespace regather::tg::library

#endif // REGATHER_LIB_DIALECT_TG_LIBRARY_ROUTINEMATCHER_H
