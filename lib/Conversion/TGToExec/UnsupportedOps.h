//===- UnsupportedOps.h - What cannot be part of a program ------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_CONVERSION_TGTOEXEC_UNSUPPORTEDOPS_H
#define REGATHER_LIB_CONVERSION_TGTOEXEC_UNSUPPORTEDOPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"

#include <map>

namespace regather {

/// Collects what the conversion cannot handle, so that all of it is reported at
/// once.
class UnsupportedOps {
public:
  explicit UnsupportedOps(mlir::func::FuncOp func) : func(func) {}

  void add(const llvm::Twine &what, mlir::Location loc);
  void addOp(mlir::Operation *op);
  /// Checks that a buffer can hold `value`.
  void checkType(mlir::Value value);

  /// One error for each kind, with the place of the first; failure if there is
  /// any.
  llvm::LogicalResult report();

private:
  mlir::func::FuncOp func;
  /// Numbers the values once; made when there is something to say.
  std::optional<mlir::AsmState> state;
  /// With the first location and how often.
  std::map<std::string, std::pair<mlir::Location, int64_t>> found;
};

/// The buffer that holds a tensor or a scalar; null for other types, and for
/// elements that no engine computes with.
mlir::MemRefType getBufferType(mlir::Type type);

/// The same, also for tensors that lie on the host.
mlir::MemRefType getPlacedBufferType(mlir::Type type);

} // namespace regather

#endif // REGATHER_LIB_CONVERSION_TGTOEXEC_UNSUPPORTEDOPS_H
