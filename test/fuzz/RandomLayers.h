//===- RandomLayers.h - Layers of a random step -----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_FUZZ_RANDOMLAYERS_H
#define REGATHER_TEST_FUZZ_RANDOMLAYERS_H

#include "RandomParameters.h"

#include <memory>

namespace regather::fuzz {

/// What layers write to, and what they may use.
struct LayerContext {
  StepText &text;
  Draw &draw;
  RandomParameters &parameters;
  /// Axes by which activations differ; the one along which their rows are a
  /// sequence, and that of tensor parallelism, if there are any.
  AxisSet dataAxes = 0, sequenceAxis = 0, tensorAxis = 0;
  /// Nothing that rounds, but for casts.
  bool isExact = false;
  /// Sizes of features.
  llvm::SmallVector<int64_t> sizes;
  /// Seed and offset, if the step draws random numbers.
  std::optional<std::pair<TextValue, TextValue>> random;
  unsigned streams = 0;
};

/// A function of a matrix of activations with its gradient. Each call of
/// `forward` is followed by one of `backward`.
class Layer {
public:
  virtual ~Layer() = default;
  virtual TextValue forward(const TextValue &x) = 0;
  /// Of a gradient of what `forward` returned, that of `x`; adds gradients of
  /// parameters.
  virtual TextValue backward(const TextValue &gradient) = 0;
};

/// Layers in which features are multiplied by parameters: their number may
/// change. `name` is that of the module.
std::unique_ptr<Layer> makeParameterLayer(LayerContext &context,
                                          int64_t &features,
                                          llvm::StringRef name);

/// Layers without parameters: element by element, views, random numbers, and
/// those that communicate. Their result has the shape of `x`.
std::unique_ptr<Layer> makePlainLayer(LayerContext &context);

/// Layers without parameters in which each element depends on its row: norms,
/// softmax, sums, orders.
std::unique_ptr<Layer> makeRowLayer(LayerContext &context);

/// Operations in loops and branches, which are in no region otherwise.
std::unique_ptr<Layer> makeControlLayer(LayerContext &context);

} // namespace regather::fuzz

#endif // REGATHER_TEST_FUZZ_RANDOMLAYERS_H
