//===- ParameterLayers.cpp - Layers with parameters -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomLayers.h"

using namespace regather::fuzz;
using llvm::StringRef;

static TextValue transpose(StepText &text, const TextValue &value) {
  return text.node(
      "aten.t.default", {value},
      {{value.type.dims[1], value.type.dims[0]}, value.type.element});
}

static TextValue multiply(StepText &text, const TextValue &a,
                          const TextValue &b) {
  return text.node("aten.mm.default", {a, b},
                   {{a.type.dims[0], b.type.dims[1]}, a.type.element});
}

/// The sum of the rows.
static TextValue sumRows(StepText &text, const TextValue &value) {
  return text.node("aten.sum.dim_IntList", {value},
                   {{value.type.dims[1]}, value.type.element},
                   "#tg.operand<0>, [0]");
}

namespace {
/// x W + b, where b may be missing, and W may be that of another module.
class Linear : public Layer {
public:
  Linear(LayerContext &context, int64_t &features, StringRef name)
      : context(context) {
    int64_t outputs =
        context.draw.oneOf(llvm::ArrayRef<int64_t>(context.sizes));
    Dims shape = {features, outputs};
    std::optional<unsigned> tied = context.parameters.findTied(shape);
    weight = tied && context.draw.percent(40)
                 ? *tied
                 : context.parameters.add(shape, name.str() + ".weight");
    if (context.draw.percent(50))
      bias = context.parameters.add({outputs}, name.str() + ".bias");
    features = outputs;
  }

  TextValue forward(const TextValue &input) override {
    x = input;
    if (bias)
      context.parameters.useTogether({weight, *bias});
    TextValue w = context.parameters.use(weight);
    TextType type{{x.type.dims[0], w.type.dims[1]}, x.type.element};
    if (!bias)
      return context.text.node("aten.mm.default", {x, w}, type);
    TextValue b = context.parameters.use(*bias);
    if (context.draw.percent(50))
      return context.text.node("aten.addmm.default", {b, x, w}, type);
    TextValue product = context.text.node("aten.mm.default", {x, w}, type);
    return context.text.node("aten.add.Tensor", {product, b}, type);
  }

  TextValue backward(const TextValue &gradient) override {
    StepText &text = context.text;
    TextValue turned = transpose(text, context.parameters.useAgain(weight));
    TextValue result = multiply(text, gradient, turned);
    context.parameters.addGradient(
        weight, multiply(text, transpose(text, x), gradient));
    if (bias)
      context.parameters.addGradient(*bias, sumRows(text, gradient));
    return result;
  }

private:
  LayerContext &context;
  unsigned weight = 0;
  std::optional<unsigned> bias;
  TextValue x;
};

/// x A B, where A is cut by columns and B by rows: each rank of the tensor axis
/// has a part of the sum.
class TensorParallel : public Layer {
public:
  TensorParallel(LayerContext &context, int64_t features, StringRef name)
      : context(context) {
    int64_t hidden = context.draw.between(1, 4);
    up = context.parameters.add({features, hidden}, name.str() + ".up",
                                context.tensorAxis, 1);
    down = context.parameters.add({hidden, features}, name.str() + ".down",
                                  context.tensorAxis, 0);
  }

  TextValue forward(const TextValue &input) override {
    x = input;
    hidden = multiply(context.text, x, context.parameters.use(up));
    return sum(multiply(context.text, hidden, context.parameters.use(down)));
  }

  TextValue backward(const TextValue &gradient) override {
    StepText &text = context.text;
    TextValue ofHidden = multiply(
        text, gradient, transpose(text, context.parameters.useAgain(down)));
    context.parameters.addGradient(
        down, multiply(text, transpose(text, hidden), gradient));
    TextValue result = sum(multiply(
        text, ofHidden, transpose(text, context.parameters.useAgain(up))));
    context.parameters.addGradient(
        up, multiply(text, transpose(text, x), ofHidden));
    return result;
  }

private:
  TextValue sum(const TextValue &part) {
    return context.text.wait(
        context.text.start("all_reduce", "sum", {part}, context.tensorAxis, "",
                           {part.type}, part.varying & ~context.tensorAxis))[0];
  }

  LayerContext &context;
  unsigned up = 0, down = 0;
  TextValue x, hidden;
};

/// A normalization: an operation of three results, of which backward reads all.
class Norm : public Layer {
public:
  Norm(LayerContext &context, int64_t features, StringRef name)
      : context(context) {
    weight = context.parameters.add({features}, name.str() + ".weight");
    bias = context.parameters.add({features}, name.str() + ".bias");
  }

  TextValue forward(const TextValue &input) override {
    x = input;
    context.parameters.useTogether({weight, bias});
    TextValue w = context.parameters.use(weight),
              b = context.parameters.use(bias);
    // Statistics of narrow floats are f32. With an epsilon as models have it, a
    // row of elements that are equal but for rounding would become noise.
    TextType one{{x.type.dims[0], 1}, "f32"};
    results = context.text.nodes(
        "aten.native_layer_norm.default", {x, w, b}, {x.type, one, one},
        "#tg.operand<0>, [" + std::to_string(x.type.dims[1]) +
            "], #tg.operand<1>, #tg.operand<2>, 0.0625");
    return results[0];
  }

  TextValue backward(const TextValue &gradient) override {
    TextValue w = context.parameters.useAgain(weight);
    TextValue b = context.parameters.useAgain(bias);
    llvm::SmallVector<TextValue> gradients = context.text.nodes(
        "aten.native_layer_norm_backward.default",
        {gradient, x, results[1], results[2], w, b}, {x.type, w.type, b.type},
        "#tg.operand<0>, #tg.operand<1>, [" + std::to_string(x.type.dims[1]) +
            "], #tg.operand<2>, #tg.operand<3>, #tg.operand<4>, "
            "#tg.operand<5>, [true, true, true]");
    context.parameters.addGradient(weight, gradients[1]);
    context.parameters.addGradient(bias, gradients[2]);
    return gradients[0];
  }

private:
  LayerContext &context;
  unsigned weight = 0, bias = 0;
  TextValue x;
  llvm::SmallVector<TextValue> results;
};

/// x times a vector, or a scalar.
class Scale : public Layer {
public:
  Scale(LayerContext &context, int64_t features, StringRef name)
      : context(context) {
    weight = context.parameters.add({features}, name.str() + ".scale");
  }

  TextValue forward(const TextValue &input) override {
    x = input;
    return context.text.node("aten.mul.Tensor",
                             {x, context.parameters.use(weight)}, x.type);
  }

  TextValue backward(const TextValue &gradient) override {
    StepText &text = context.text;
    context.parameters.addGradient(
        weight,
        sumRows(text, text.node("aten.mul.Tensor", {gradient, x}, x.type)));
    return text.node("aten.mul.Tensor",
                     {gradient, context.parameters.useAgain(weight)}, x.type);
  }

private:
  LayerContext &context;
  unsigned weight = 0;
  TextValue x;
};
} // namespace

std::unique_ptr<Layer> regather::fuzz::makeParameterLayer(LayerContext &context,
                                                          int64_t &features,
                                                          StringRef name) {
  if (context.tensorAxis && context.draw.percent(40))
    return std::make_unique<TensorParallel>(context, features, name);
  if (!context.isExact && context.draw.percent(25))
    return std::make_unique<Norm>(context, features, name);
  if (context.draw.percent(25))
    return std::make_unique<Scale>(context, features, name);
  return std::make_unique<Linear>(context, features, name);
}
