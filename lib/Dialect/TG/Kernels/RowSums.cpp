//===- RowSums.cpp - The order of sums to one number ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Kernels/RowSums.h"

int64_t regather::tg::getNumRowDims(llvm::ArrayRef<int64_t> shape) {
  int64_t rows = 1, columns = 1;
  for (int64_t size : shape)
    columns *= size;
  if (columns < kMinRowSumElements)
    return 0;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    rows *= shape[dim];
    columns /= shape[dim];
    if (columns < kMinRowSums)
      return 0;
    if (rows >= kMinRowSums)
      return static_cast<int64_t>(dim) + 1;
  }
  return 0;
}
