//===- PlainLayers.cpp - Layers without parameters ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomLayers.h"

using namespace regather::fuzz;
using llvm::StringRef;

namespace {
/// A function of each element, whose gradient is a product with what forward
/// has left.
class Elementwise : public Layer {
public:
  explicit Elementwise(LayerContext &context) : text(context.text) {
    kind = context.isExact
               ? context.draw.oneOf({Kind::Relu, Kind::Neg, Kind::Half})
               : context.draw.oneOf({Kind::Relu, Kind::Neg, Kind::Half,
                                     Kind::Tanh, Kind::Sigmoid, Kind::Square});
  }

  TextValue forward(const TextValue &input) override {
    x = input;
    switch (kind) {
    case Kind::Relu:
      return y = text.node("aten.relu.default", {x}, x.type);
    case Kind::Neg:
      return y = text.node("aten.neg.default", {x}, x.type);
    case Kind::Half:
      return y = text.node("aten.mul.Tensor", {x}, x.type,
                           "#tg.operand<0>, 0.5");
    case Kind::Tanh:
      return y = text.node("aten.tanh.default", {x}, x.type);
    case Kind::Sigmoid:
      return y = text.node("aten.sigmoid.default", {x}, x.type);
    case Kind::Square:
      return y = text.node("aten.mul.Tensor", {x, x}, x.type);
    }
    return y;
  }

  TextValue backward(const TextValue &gradient) override {
    switch (kind) {
    case Kind::Relu: {
      TextValue mask = text.node("aten.gt.Scalar", {y}, {x.type.dims, "i1"},
                                 "#tg.operand<0>, 0");
      mask = text.node("aten._to_copy.default", {mask}, x.type, "",
                       "dtype = " + x.type.element);
      return scale(gradient, mask);
    }
    case Kind::Neg:
      return text.node("aten.neg.default", {gradient}, x.type);
    case Kind::Half:
      return text.node("aten.mul.Tensor", {gradient}, x.type,
                       "#tg.operand<0>, 0.5");
    case Kind::Tanh: {
      TextValue square = text.node("aten.mul.Tensor", {y, y}, x.type);
      return scale(gradient, text.node("aten.rsub.Scalar", {square}, x.type,
                                       "#tg.operand<0>, 1"));
    }
    case Kind::Sigmoid: {
      TextValue rest =
          text.node("aten.rsub.Scalar", {y}, x.type, "#tg.operand<0>, 1");
      return scale(gradient, scale(y, rest));
    }
    case Kind::Square: {
      TextValue twice = text.node("aten.add.Tensor", {x, x}, x.type);
      return scale(gradient, twice);
    }
    }
    return gradient;
  }

private:
  TextValue scale(const TextValue &value, const TextValue &by) {
    return text.node("aten.mul.Tensor", {value, by}, value.type);
  }

  enum class Kind { Relu, Neg, Half, Tanh, Sigmoid, Square };
  StepText &text;
  Kind kind;
  TextValue x, y;
};

/// The columns, cut in two, in the other order.
class SwapColumns : public Layer {
public:
  explicit SwapColumns(LayerContext &context) : context(context) {}

  TextValue forward(const TextValue &x) override {
    first = context.draw.between(0, x.type.dims[1]);
    return swap(x, first);
  }
  TextValue backward(const TextValue &gradient) override {
    return swap(gradient, gradient.type.dims[1] - first);
  }

private:
  TextValue swap(const TextValue &x, int64_t columns) {
    int64_t rest = x.type.dims[1] - columns;
    if (columns == 0 || rest == 0)
      return x;
    llvm::SmallVector<TextValue> parts =
        context.text.nodes("aten.split_with_sizes.default", {x},
                           {{{x.type.dims[0], columns}, x.type.element},
                            {{x.type.dims[0], rest}, x.type.element}},
                           "#tg.operand<0>, [" + std::to_string(columns) +
                               ", " + std::to_string(rest) + "], 1");
    return context.text.node("aten.cat.default", {parts[1], parts[0]}, x.type,
                             "[#tg.operand<0>, #tg.operand<1>], 1");
  }

  LayerContext &context;
  int64_t first = 0;
};

/// Views there and back, with something in between.
class Views : public Layer {
public:
  explicit Views(LayerContext &context)
      : text(context.text), isFlat(context.draw.percent(50)) {}

  TextValue forward(const TextValue &x) override { return apply(x); }
  TextValue backward(const TextValue &gradient) override {
    return apply(gradient);
  }

private:
  TextValue apply(const TextValue &x) {
    int64_t rows = x.type.dims[0], columns = x.type.dims[1];
    TextType other = {isFlat ? Dims{rows * columns} : Dims{columns, rows},
                      x.type.element};
    std::string back = "#tg.operand<0>, [" + std::to_string(rows) + ", " +
                       std::to_string(columns) + "]";
    TextValue y = isFlat ? text.node("aten.view.default", {x}, other,
                                     "#tg.operand<0>, [" +
                                         std::to_string(rows * columns) + "]")
                         : text.node("aten.t.default", {x}, other);
    y = text.node("aten.add.Tensor", {y}, other, "#tg.operand<0>, 1");
    return isFlat ? text.node("aten.view.default", {y}, x.type, back)
                  : text.node("aten.permute.default", {y}, x.type,
                              "#tg.operand<0>, [1, 0]");
  }

  StepText &text;
  const bool isFlat;
};

/// Through another element type and back.
class Cast : public Layer {
public:
  explicit Cast(LayerContext &context)
      : text(context.text),
        element(context.draw.oneOf<const char *>({"bf16", "f32", "f64"})) {}

  TextValue forward(const TextValue &x) override { return apply(x); }
  TextValue backward(const TextValue &gradient) override {
    return apply(gradient);
  }

private:
  TextValue apply(const TextValue &x) {
    if (x.type.element == element)
      return x;
    TextValue y = text.node("aten._to_copy.default", {x},
                            {x.type.dims, element}, "", "dtype = " + element);
    y = text.node("aten.neg.default", {y}, y.type);
    return text.node("aten._to_copy.default", {y}, x.type, "",
                     "dtype = " + x.type.element);
  }

  StepText &text;
  const std::string element;
};

/// Each row's sum is added to its elements.
class AddRowSums : public Layer {
public:
  explicit AddRowSums(LayerContext &context) : text(context.text) {}

  TextValue forward(const TextValue &x) override { return apply(x); }
  TextValue backward(const TextValue &gradient) override {
    return apply(gradient);
  }

private:
  TextValue apply(const TextValue &x) {
    TextValue sums = text.node("aten.sum.dim_IntList", {x},
                               {{x.type.dims[0], 1}, x.type.element},
                               "#tg.operand<0>, [1], true");
    return text.node("aten.add.Tensor", {x, sums}, x.type);
  }

  StepText &text;
};

/// Drops half of the elements.
class Dropout : public Layer {
public:
  explicit Dropout(LayerContext &context) : context(context) {}

  TextValue forward(const TextValue &x) override {
    StepText &text = context.text;
    auto [seed, offset] = *context.random;
    TextValue bits =
        text.random(seed, offset, context.streams++, {x.type.dims, "i32"});
    llvm::SmallVector<TextValue> results = text.nodes(
        "aten.native_dropout.default", {x, bits}, {x.type, {x.type.dims, "i1"}},
        "#tg.operand<0>, 0.5, true", "bits = #tg.operand<1>");
    mask = results[1];
    return results[0];
  }

  TextValue backward(const TextValue &gradient) override {
    StepText &text = context.text;
    TextValue kept = text.node("aten._to_copy.default", {mask}, gradient.type,
                               "", "dtype = " + gradient.type.element);
    kept =
        text.node("aten.mul.Tensor", {kept}, kept.type, "#tg.operand<0>, 2.0");
    return text.node("aten.mul.Tensor", {gradient, kept}, gradient.type);
  }

private:
  LayerContext &context;
  TextValue mask;
};

/// All rows of a sequence on each of its ranks, and back.
class SequenceGather : public Layer {
public:
  explicit SequenceGather(LayerContext &context) : context(context) {}

  TextValue forward(const TextValue &x) override { return apply(x, "avg"); }
  TextValue backward(const TextValue &gradient) override {
    return apply(gradient, "sum");
  }

private:
  TextValue apply(const TextValue &x, StringRef reduction) {
    StepText &text = context.text;
    int64_t ranks = text.countRanks(context.sequenceAxis);
    TextType whole{{x.type.dims[0] * ranks, x.type.dims[1]}, x.type.element};
    TextValue y = text.wait(text.start("all_gather", "", {x},
                                       context.sequenceAxis, "dim 0", {whole},
                                       x.varying & ~context.sequenceAxis))[0];
    y = text.node("aten.neg.default", {y}, whole);
    return text.wait(text.start("reduce_scatter", reduction, {y},
                                context.sequenceAxis, "dim 0", {x.type},
                                x.varying))[0];
  }

  LayerContext &context;
};

/// Rows of a sequence against columns, and back.
class SequenceExchange : public Layer {
public:
  explicit SequenceExchange(LayerContext &context) : context(context) {}

  TextValue forward(const TextValue &x) override { return apply(x); }
  TextValue backward(const TextValue &gradient) override {
    return apply(gradient);
  }

private:
  TextValue apply(const TextValue &x) {
    StepText &text = context.text;
    int64_t ranks = text.countRanks(context.sequenceAxis);
    if (x.type.dims[1] % ranks != 0)
      return x;
    TextType other{{x.type.dims[0] * ranks, x.type.dims[1] / ranks},
                   x.type.element};
    TextValue y =
        text.wait(text.start("all_to_all", "", {x}, context.sequenceAxis,
                             "split 1 concat 0", {other}, x.varying))[0];
    y = text.node("aten.neg.default", {y}, other);
    return text.wait(text.start("all_to_all", "", {y}, context.sequenceAxis,
                                "split 0 concat 1", {x.type}, x.varying))[0];
  }

  LayerContext &context;
};

/// What a neighbour, or one rank, has is added.
class AddOtherRank : public Layer {
public:
  explicit AddOtherRank(LayerContext &context)
      : context(context), isRing(context.draw.percent(50)) {
    do
      axis = context.draw.below(context.text.mesh.size());
    while (!(context.dataAxes >> axis & 1));
    ranks = context.text.mesh[axis].size;
    root = static_cast<int64_t>(context.draw.below(ranks));
  }

  TextValue forward(const TextValue &x) override { return apply(x, 0, 1); }
  TextValue backward(const TextValue &gradient) override {
    return apply(gradient, 1, 0);
  }

private:
  TextValue apply(const TextValue &x, int64_t from, int64_t to) {
    StepText &text = context.text;
    std::string details = "root " + std::to_string(root);
    if (isRing) {
      details = "pairs [";
      for (int64_t i = 0; i + 1 < ranks; ++i)
        details += (i ? ", " : "") + std::to_string(i + from) + " to " +
                   std::to_string(i + to);
      details += "]";
    }
    TextValue other =
        text.wait(text.start(isRing ? "permute" : "broadcast", "", {x},
                             1u << axis, details, {x.type}, x.varying))[0];
    return text.node("aten.add.Tensor", {x, other}, x.type);
  }

  LayerContext &context;
  const bool isRing;
  unsigned axis = 0;
  int64_t ranks = 1, root = 0;
};
} // namespace

std::unique_ptr<Layer> regather::fuzz::makePlainLayer(LayerContext &context) {
  Draw &draw = context.draw;
  if (context.random && draw.percent(30))
    return std::make_unique<Dropout>(context);
  if (context.sequenceAxis && draw.percent(40)) {
    if (draw.percent(50))
      return std::make_unique<SequenceGather>(context);
    return std::make_unique<SequenceExchange>(context);
  }
  if (context.dataAxes && draw.percent(15))
    return std::make_unique<AddOtherRank>(context);
  switch (draw.below(11)) {
  case 0:
    return std::make_unique<SwapColumns>(context);
  case 1:
    return std::make_unique<Views>(context);
  case 2:
    return std::make_unique<Cast>(context);
  case 3:
    return std::make_unique<AddRowSums>(context);
  case 4:
  case 5:
  case 6:
    return makeRowLayer(context);
  default:
    return std::make_unique<Elementwise>(context);
  }
}
