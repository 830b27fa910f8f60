//===- ScatterLoop.h - Loops that write at places of data -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_TRANSFORMS_SCATTERLOOP_H
#define REGATHER_KERNEL_TRANSFORMS_SCATTERLOOP_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace regather::kernel {

/// The loop that `scatterInto` builds, in TGNodesToLinalg/Scatter.cpp.
struct Scatter {
  mlir::scf::ForOp loop;
  mlir::Value indices, values;
  /// Computes a new row from the old one and a row of values, which are its
  /// operands in this order; null if the last value stays.
  mlir::linalg::GenericOp combine;
  mlir::RankedTensorType type;

  int64_t getCount() const {
    return mlir::cast<mlir::RankedTensorType>(indices.getType()).getDimSize(0);
  }
  int64_t getExtent() const { return type.getDimSize(0); }
  int64_t getWidth() const { return type.getDimSize(1); }
};

/// The loop as a scatter, if it is one.
std::optional<Scatter> matchScatter(mlir::scf::ForOp loop);

/// Builds what an element becomes to which `value` comes.
mlir::Value combineElement(mlir::ImplicitLocOpBuilder &b,
                           const Scatter &scatter, mlir::Value previous,
                           mlir::Value value);

} // namespace regather::kernel

#endif // REGATHER_KERNEL_TRANSFORMS_SCATTERLOOP_H
