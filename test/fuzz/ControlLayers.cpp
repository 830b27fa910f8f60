//===- ControlLayers.cpp - Layers with loops and branches -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomLayers.h"

using namespace regather::fuzz;
using llvm::ArrayRef;
using llvm::StringRef;

namespace {
/// A loop that carries two values, which change places in each iteration, or
/// both come from one of them; with a branch, or a collective, inside.
class Repeat : public Layer {
public:
  explicit Repeat(LayerContext &context)
      : context(context), count(static_cast<int64_t>(context.draw.below(4))),
        branches(context.draw.percent(40)), swaps(context.draw.percent(70)),
        communicates(context.dataAxes && context.draw.percent(50)),
        leaves(context.dataAxes && context.draw.percent(25)) {}

  TextValue forward(const TextValue &x) override { return apply(x); }
  TextValue backward(const TextValue &gradient) override {
    return apply(gradient);
  }

private:
  TextValue apply(const TextValue &x) {
    StepText &text = context.text;
    TextValue other = text.node("aten.neg.default", {x}, x.type);
    llvm::SmallVector<TextValue> ends = text.loop(
        count, {x, other}, [&](StringRef number, ArrayRef<TextValue> values) {
          TextValue next = change(number, values[0], values[1]);
          return swaps ? llvm::SmallVector<TextValue>{values[1], next}
                       : llvm::SmallVector<TextValue>{next, values[0]};
        });
    TextValue twice =
        text.node("aten.mul.Tensor", {ends[1]}, x.type, "#tg.operand<0>, 2");
    TextValue sum = text.node("aten.add.Tensor", {ends[0], twice}, x.type);
    return branches ? choose(text.index(count), sum, x) : sum;
  }

  /// What is computed in an iteration. Nothing that decides whether a
  /// collective runs is carried: it may differ between ranks.
  TextValue change(StringRef number, const TextValue &a, const TextValue &b) {
    StepText &text = context.text;
    // Nobody waits for it.
    if (leaves)
      text.start("all_reduce", "max", {b}, context.dataAxes, "", {b.type},
                 b.varying);
    if (!branches)
      return text.node("aten.neg.default", {send(a)}, a.type);
    return text.branch(
        number, a.type,
        [&] { return text.node("aten.neg.default", {a}, a.type); },
        [&] { return text.node("aten.relu.default", {b}, b.type); });
  }

  TextValue choose(StringRef number, const TextValue &a, const TextValue &b) {
    StepText &text = context.text;
    return text.branch(
        number, a.type,
        [&] { return text.node("aten.neg.default", {send(a)}, a.type); },
        [&] { return text.node("aten.relu.default", {send(b)}, b.type); });
  }

  /// What all ranks have of it.
  TextValue send(const TextValue &value) {
    StepText &text = context.text;
    if (!communicates)
      return value;
    return text.wait(text.start("all_reduce", "max", {value}, context.dataAxes,
                                "", {value.type}, value.varying))[0];
  }

  LayerContext &context;
  const int64_t count;
  const bool branches, swaps, communicates, leaves;
};
} // namespace

std::unique_ptr<Layer> regather::fuzz::makeControlLayer(LayerContext &context) {
  return std::make_unique<Repeat>(context);
}
