//===- WindowArguments.h - Windows that a node moves ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Convolutions and pools read the elements of a window around each result. Of
// one dimension of size `extent`, result i reads the positions
//
//   i * stride - padding + k * dilation, for k below the size of the window,
//
// of which those outside of the tensor are padded.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_NODES_WINDOWARGUMENTS_H
#define REGATHER_DIALECT_TG_NODES_WINDOWARGUMENTS_H

#include "regather/Dialect/TG/Nodes/NodeArguments.h"

namespace regather::nodes {

/// A window along one dimension.
struct Window {
  int64_t size = 1, stride = 1, padding = 0, dilation = 1;

  /// Number of positions from the first to the last.
  int64_t getSpan() const { return dilation * (size - 1) + 1; }
  /// Number of windows that lie in a padded dimension.
  int64_t getCount(int64_t extent) const {
    int64_t room = extent + 2 * padding - getSpan();
    return room < 0 ? 0 : room / stride + 1;
  }
};

/// Windows along the last dimensions of a tensor.
using Windows = llvm::SmallVector<Window, 3>;

/// Reads a list with one integer for each of `count` dimensions; a single one
/// counts for all, and an absent or empty list is `standard`.
llvm::SmallVector<int64_t> getPerDim(NodeArguments &args, llvm::StringRef name,
                                     size_t count,
                                     llvm::ArrayRef<int64_t> standard);

/// Fails unless sizes, strides and dilations are positive, and paddings not
/// negative.
mlir::LogicalResult checkWindows(NodeArguments &args, const Windows &windows);

} // namespace regather::nodes

#endif // REGATHER_DIALECT_TG_NODES_WINDOWARGUMENTS_H
