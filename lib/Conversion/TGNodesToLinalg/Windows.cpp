//===- Windows.cpp - Windows that slide over tensors ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Windows.h"

using namespace mlir;
using namespace regather::nodes;

Tensor regather::nodes::pad(B &b, Tensor tensor, int64_t dim, int64_t before,
                            int64_t after, TypedAttr number) {
  int64_t start = std::max<int64_t>(-before, 0);
  int64_t size =
      tensor.getType().getDimSize(dim) - start - std::max<int64_t>(-after, 0);
  tensor = slice(b, tensor, dim, start, size);
  if (before <= 0 && after <= 0)
    return tensor;
  SmallVector<int64_t> shape(tensor.getType().getShape());
  shape[dim] += std::max<int64_t>(before, 0) + std::max<int64_t>(after, 0);
  return insertSlice(b, tensor, fill(b, shape, number), dim,
                     std::max<int64_t>(before, 0));
}

/// The first of the dimensions that windows move along.
static int64_t getFirstDim(Tensor tensor, const Windows &windows) {
  return tensor.getType().getRank() - static_cast<int64_t>(windows.size());
}

Tensor regather::nodes::padForWindows(B &b, Tensor tensor,
                                      const Windows &windows,
                                      ArrayRef<int64_t> counts,
                                      TypedAttr number) {
  int64_t dim = getFirstDim(tensor, windows);
  for (auto [window, count] : llvm::zip_equal(windows, counts)) {
    int64_t size = (count - 1) * window.stride + window.getSpan();
    int64_t after = size - tensor.getType().getDimSize(dim) - window.padding;
    tensor = pad(b, tensor, dim, window.padding, after, number);
    ++dim;
  }
  return tensor;
}

Tensor regather::nodes::spreadForWindows(B &b, Tensor tensor,
                                         const Windows &windows,
                                         ArrayRef<int64_t> extents) {
  int64_t dim = getFirstDim(tensor, windows);
  TypedAttr zero = makeNumber(tensor.getType().getElementType(), 0.0);
  for (auto [window, extent] : llvm::zip_equal(windows, extents)) {
    SmallVector<int64_t> shape(tensor.getType().getShape());
    shape[dim] = (shape[dim] - 1) * window.stride + 1;
    if (window.stride != 1)
      tensor =
          insertSlice(b, tensor, fill(b, shape, zero), dim, 0, window.stride);
    int64_t span = window.getSpan();
    int64_t before = span - 1 - window.padding;
    int64_t after = extent + span - 1 - before - shape[dim];
    tensor = pad(b, tensor, dim, before, after, zero);
    ++dim;
  }
  return tensor;
}

AffineExpr regather::nodes::getWindowPosition(const Window &window,
                                              AffineExpr result,
                                              AffineExpr kernel) {
  return result * window.stride + kernel * window.dilation;
}
