//===- Windows.h - Windows that slide over tensors --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_CONVERSION_TGNODESTOLINALG_WINDOWS_H
#define REGATHER_LIB_CONVERSION_TGNODESTOLINALG_WINDOWS_H

#include "StructuredOps.h"

#include "regather/Dialect/TG/Nodes/WindowArguments.h"

namespace regather::nodes {

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
