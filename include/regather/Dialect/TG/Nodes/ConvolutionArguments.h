//===- ConvolutionArguments.h - Sizes of a convolution ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With x [N, G * C, extents], weights w [G * K, C, sizes] and y [N, G * K,
// counts], channels seen in G groups, a convolution computes
//
//   y[n, g, k, i] = sum_{c, s} x[n, g, c, i * stride - padding + s * dilation]
//                              * w[g, k, c, s]
//
// with zeros outside of x. A transposed convolution computes x from y, which is
// the gradient of x.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_NODES_CONVOLUTIONARGUMENTS_H
#define REGATHER_DIALECT_TG_NODES_CONVOLUTIONARGUMENTS_H

#include "regather/Dialect/TG/Nodes/WindowArguments.h"

namespace regather::nodes {

/// What `op` calls, if it is a node for a convolution or its gradients.
std::optional<tg::NodeTarget> findConvolutionTarget(mlir::Operation *op);

struct Convolution {
  Windows windows;
  int64_t batch = 0, groups = 1, inner = 0, outer = 0;
  /// Of x and of y.
  llvm::SmallVector<int64_t> extents, counts;
  bool isTransposed = false;

  size_t getRank() const { return windows.size(); }
  llvm::SmallVector<int64_t> getSizes() const;
  /// Of x, w and y, in groups.
  llvm::SmallVector<int64_t> getXShape() const;
  llvm::SmallVector<int64_t> getWeightShape() const;
  llvm::SmallVector<int64_t> getYShape() const;
};

/// Reads what a convolution and its gradients share. `output` is the shape of
/// what the forward node gives.
mlir::FailureOr<Convolution> readConvolution(NodeArguments &args, Tensor input,
                                             Tensor weight,
                                             llvm::ArrayRef<int64_t> output);

} // namespace regather::nodes

#endif // REGATHER_DIALECT_TG_NODES_CONVOLUTIONARGUMENTS_H
