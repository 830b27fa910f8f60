//===- RowLayers.cpp - Layers that read whole rows ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomLayers.h"

using namespace regather::fuzz;

namespace {
/// What the layers below write with.
class RowLayer : public Layer {
protected:
  explicit RowLayer(LayerContext &context) : text(context.text) {}

  TextValue call(const char *target, llvm::ArrayRef<TextValue> operands,
                 const std::string &args = "") {
    return text.node(target, operands, operands[0].type, args);
  }

  /// Of each row one number.
  TextValue reduce(const char *target, const TextValue &x) {
    return text.node(target, {x}, {{x.type.dims[0], 1}, x.type.element},
                     "#tg.operand<0>, [1], true");
  }

  StepText &text;
};

class Softmax : public RowLayer {
public:
  explicit Softmax(LayerContext &context)
      : RowLayer(context), isLog(context.draw.percent(40)) {}

  TextValue forward(const TextValue &x) override {
    return y = call(isLog ? "aten._log_softmax.default"
                          : "aten._softmax.default",
                    {x}, "#tg.operand<0>, 1, false");
  }

  TextValue backward(const TextValue &gradient) override {
    return call(isLog ? "aten._log_softmax_backward_data.default"
                      : "aten._softmax_backward_data.default",
                {gradient, y},
                "#tg.operand<0>, #tg.operand<1>, 1, " + y.type.element);
  }

private:
  const bool isLog;
  TextValue y;
};

/// x over the root of the mean of its squares.
class RootMeanSquare : public RowLayer {
public:
  explicit RootMeanSquare(LayerContext &context) : RowLayer(context) {}

  TextValue forward(const TextValue &input) override {
    x = input;
    TextValue mean = reduce("aten.mean.dim", call("aten.mul.Tensor", {x, x}));
    scale = call("aten.rsqrt.default",
                 {call("aten.add.Tensor", {mean}, "#tg.operand<0>, 0.0625")});
    return y = call("aten.mul.Tensor", {x, scale});
  }

  /// (g - y mean(g y)) / root.
  TextValue backward(const TextValue &gradient) override {
    TextValue mean =
        reduce("aten.mean.dim", call("aten.mul.Tensor", {gradient, y}));
    return call("aten.mul.Tensor",
                {call("aten.sub.Tensor",
                      {gradient, call("aten.mul.Tensor", {y, mean})}),
                 scale});
  }

private:
  TextValue x, y, scale;
};

/// x less the largest element of its row, which may be there several times.
class SubtractMaximum : public RowLayer {
public:
  explicit SubtractMaximum(LayerContext &context) : RowLayer(context) {}

  TextValue forward(const TextValue &x) override {
    TextValue maximum = reduce("aten.amax.default", x);
    isLargest = text.node("aten.eq.Tensor", {x, maximum}, {x.type.dims, "i1"});
    return call("aten.sub.Tensor", {x, maximum});
  }

  TextValue backward(const TextValue &gradient) override {
    TextValue mask =
        text.node("aten._to_copy.default", {isLargest}, gradient.type, "",
                  "dtype = " + gradient.type.element);
    TextValue sum = reduce("aten.sum.dim_IntList", gradient);
    return call("aten.sub.Tensor",
                {gradient, call("aten.mul.Tensor", {mask, sum})});
  }

private:
  TextValue isLargest;
};

/// Sums over the features up to each one.
class RunningSum : public RowLayer {
public:
  explicit RunningSum(LayerContext &context) : RowLayer(context) {}

  TextValue forward(const TextValue &x) override {
    return call("aten.cumsum.default", {x}, "#tg.operand<0>, 1");
  }

  TextValue backward(const TextValue &gradient) override {
    TextValue sum = forward(call("aten.flip.default", {gradient}, kReversed));
    return call("aten.flip.default", {sum}, kReversed);
  }

private:
  static constexpr const char *kReversed = "#tg.operand<0>, [1]";
};

/// The elements of each row in order.
class Sort : public RowLayer {
public:
  explicit Sort(LayerContext &context) : RowLayer(context) {}

  TextValue forward(const TextValue &x) override {
    llvm::SmallVector<TextValue> results =
        text.nodes("aten.sort.default", {x}, {x.type, {x.type.dims, "i64"}},
                   "#tg.operand<0>, 1");
    places = results[1];
    return results[0];
  }

  TextValue backward(const TextValue &gradient) override {
    TextValue zeros =
        call("aten.mul.Tensor", {gradient}, "#tg.operand<0>, 0.0");
    return call("aten.scatter.src", {zeros, places, gradient},
                "#tg.operand<0>, 1, #tg.operand<1>, #tg.operand<2>");
  }

private:
  TextValue places;
};

/// Keeps what lies on one side of a diagonal.
class Triangle : public RowLayer {
public:
  explicit Triangle(LayerContext &context)
      : RowLayer(context),
        target(context.draw.percent(50) ? "aten.tril.default"
                                        : "aten.triu.default"),
        args("#tg.operand<0>, " +
             std::to_string(static_cast<int>(context.draw.below(5)) - 2)) {}

  TextValue forward(const TextValue &x) override {
    return call(target, {x}, args);
  }
  TextValue backward(const TextValue &gradient) override {
    return call(target, {gradient}, args);
  }

private:
  const char *const target;
  const std::string args;
};

/// Adds a constant to each row.
class AddConstant : public RowLayer {
public:
  explicit AddConstant(LayerContext &context) : RowLayer(context) {}

  TextValue forward(const TextValue &x) override {
    return call("aten.add.Tensor",
                {x, text.constant(x.type.dims[1], x.type.element)});
  }
  TextValue backward(const TextValue &gradient) override { return gradient; }
};
} // namespace

std::unique_ptr<Layer> regather::fuzz::makeRowLayer(LayerContext &context) {
  // The first three do not round.
  switch (context.draw.below(context.isExact ? 3 : 8)) {
  case 0:
    return std::make_unique<Sort>(context);
  case 1:
    return std::make_unique<Triangle>(context);
  case 2:
    return std::make_unique<AddConstant>(context);
  case 3:
    return std::make_unique<RootMeanSquare>(context);
  case 4:
    return std::make_unique<SubtractMaximum>(context);
  case 5:
    return std::make_unique<RunningSum>(context);
  default:
    return std::make_unique<Softmax>(context);
  }
}
