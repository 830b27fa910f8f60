//===- WindowProblem.h - A convolution or its adjoint -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_CPU_CONVOLUTION_WINDOWPROBLEM_H
#define REGATHER_LIB_RUNTIME_CPU_CONVOLUTION_WINDOWPROBLEM_H

#include "Convolution.h"
#include "WindowGather.h"

namespace regather::runtime {

/// What is summed, and where the sums go. Strides are in elements.
struct WindowProblem {
  int64_t groups, rows, channels;
  std::vector<Tap> taps;

  rg_convolution_operand source;
  WindowReader reader;
  /// Of the groups and channels of the source.
  int64_t sourceGroup, sourceChannel;

  rg_convolution_operand weights;
  int64_t weightGroup, weightRow, weightChannel;

  rg_convolution_operand target;
  WindowReader columns;
  int64_t targetOffset, targetGroup, targetRow;

  /// Buffer -1 for none. Has strides of groups and rows.
  rg_convolution_operand bias;

  int64_t getDepth() const {
    return channels * static_cast<int64_t>(taps.size());
  }
};

/// Any problem as a GEMM.
std::unique_ptr<ConvolutionPart> createWindowSums(WindowProblem problem);

/// A problem of few rows and channels by sums of shifted planes; null if a GEMM
/// is faster.
std::unique_ptr<ConvolutionPart> createPlaneSums(const WindowProblem &problem);

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_CPU_CONVOLUTION_WINDOWPROBLEM_H
