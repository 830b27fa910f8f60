//===- Windows.h - Windows that slide over tensors --------------*- C++ -*-===//
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

#ifndef REGATHER_LIB_CONVERSION_TGNODESTOLINALG_WINDOWS_H
#define REGATHER_LIB_CONVERSION_TGNODESTOLINALG_WINDOWS_H

#include "StructuredOps.h"

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

/// The tensor with `before` elements in front and `after` behind along `dim`;
/// negative amounts cut off. It must have as many.
Tensor pad(B &b, Tensor tensor, int64_t dim, int64_t before, int64_t after,
           mlir::TypedAttr number);

/// Pads the last dimensions so that exactly `counts` windows lie in them.
Tensor padForWindows(B &b, Tensor tensor, const Windows &windows,
                     llvm::ArrayRef<int64_t> counts, mlir::TypedAttr number);

/// The adjoint of reading windows from dimensions of size `extents`: moves the
/// elements of the last dimensions `stride` apart, with zeros between and
/// around them, so that windows with stride 1, read backwards, sum up to what
/// each position contributed.
Tensor spreadForWindows(B &b, Tensor tensor, const Windows &windows,
                        llvm::ArrayRef<int64_t> extents);

/// The position that element `kernel` of window `result` reads in a padded
/// dimension.
mlir::AffineExpr getWindowPosition(const Window &window,
                                   mlir::AffineExpr result,
                                   mlir::AffineExpr kernel);

} // namespace regather::nodes

#endif // REGATHER_LIB_CONVERSION_TGNODESTOLINALG_WINDOWS_H
