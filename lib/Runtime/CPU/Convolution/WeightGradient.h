//===- WeightGradient.h - Adjoints in the weights ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_CPU_CONVOLUTION_WEIGHTGRADIENT_H
#define REGATHER_LIB_RUNTIME_CPU_CONVOLUTION_WEIGHTGRADIENT_H

#include "Convolution.h"
#include "WindowEpilogue.h"
#include "WindowGather.h"

namespace regather::runtime {

/// Windows over x; and over y, of which each sees one element.
WindowReader getXWindows(const rg_convolution_desc &desc);
WindowReader getYWindows(const rg_convolution_desc &desc);
/// Where the gradients of a row of weights lie: inner channels, then taps.
WindowReader getRowOfWeights(const rg_convolution_desc &desc);
/// In the order of the elements of a window.
std::vector<Tap> getTaps(const rg_convolution_desc &desc);

/// For few channels, by planes; null if a GEMM is faster.
std::unique_ptr<ConvolutionPart>
createPlaneWeights(const rg_convolution_desc &desc);

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_CPU_CONVOLUTION_WEIGHTGRADIENT_H
