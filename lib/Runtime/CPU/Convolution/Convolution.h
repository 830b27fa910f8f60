//===- Convolution.h - Parts of one prepared convolution --------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_CPU_CONVOLUTION_CONVOLUTION_H
#define REGATHER_LIB_RUNTIME_CPU_CONVOLUTION_CONVOLUTION_H

#include "WindowReader.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace regather::runtime {

/// What computes one result of a convolution, or some of its elements. Several
/// threads may run tasks at a time.
class ConvolutionPart {
public:
  virtual ~ConvolutionPart() = default;

  virtual int64_t getNumTasks() const = 0;
  virtual size_t getScratchBytes() const = 0;
  virtual void run(void *const *buffers, int64_t task, void *scratch) const = 0;
};

using ConvolutionParts = std::vector<std::unique_ptr<ConvolutionPart>>;

/// Those of y; `desc` has x, w and to_y.
void addForwardParts(const rg_convolution_desc &desc, ConvolutionParts &parts);
/// Those of x; `desc` has y, w and to_x.
void addAdjointParts(const rg_convolution_desc &desc, ConvolutionParts &parts);
/// Those of w; `desc` has x, y and to_w.
void addWeightParts(const rg_convolution_desc &desc, ConvolutionParts &parts);
/// Those of the gradient of the bias.
void addBiasParts(const rg_convolution_desc &desc, ConvolutionParts &parts);

/// One operand in memory.
struct ConvolutionOperand {
  ConvolutionOperand(const rg_convolution_operand &operand,
                     void *const *buffers);

  /// The element `offset` behind the first one.
  void *at(int64_t offset) const {
    return static_cast<char *>(data) + offset * elementBytes;
  }

  /// Its value.
  float load(int64_t offset) const;

  void *data;
  int32_t dtype;
  int64_t elementBytes;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_CPU_CONVOLUTION_CONVOLUTION_H
