//===- WindowEpilogue.h - Write the sums of a convolution -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_CPU_CONVOLUTION_WINDOWEPILOGUE_H
#define REGATHER_LIB_RUNTIME_CPU_CONVOLUTION_WINDOWEPILOGUE_H

#include "Convolution.h"

namespace regather::runtime {

/// A matrix of which the elements of a row lie where windows are.
class WindowEpilogue {
public:
  /// The kernels are those of the sums. `target` is its first element, and
  /// `bias`, null for none, what is added to row 0; that of another row lies
  /// `biasStride` further for each.
  WindowEpilogue(const BlockKernels &kernels, const WindowReader &columns,
                 const ConvolutionOperand &target, int64_t rowStride,
                 const ConvolutionOperand *bias = nullptr,
                 int64_t biasStride = 0)
      : kernels(kernels), columns(columns), span(columns.getSpan()),
        target(target), rowStride(rowStride), bias(bias),
        biasStride(biasStride) {}

  /// Where the sums from (row, column) on are written to if they are the
  /// elements, in whole vectors; null if there is more to do.
  float *getTarget(int64_t row, int64_t column, int64_t numColumns) const;
  int64_t getTargetStride() const { return rowStride; }

  /// Elements are where windows are, mostly behind each other.
  void prefetch(int64_t, int64_t, int64_t, int64_t) const {}

  /// Writes the elements from (row, column) on; `sums` is a scratch matrix of
  /// them, which is overwritten.
  void apply(float *sums, int64_t stride, int64_t row, int64_t numRows,
             int64_t column, int64_t numColumns) const;

private:
  const BlockKernels &kernels;
  const WindowReader &columns;
  int64_t span;
  ConvolutionOperand target;
  int64_t rowStride;
  const ConvolutionOperand *bias;
  int64_t biasStride;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_CPU_CONVOLUTION_WINDOWEPILOGUE_H
