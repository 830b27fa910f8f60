//===- ElementwiseRules.cpp - Rules of nodes that work by element ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeRules.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::sharding;

/// In which of its first two arguments a node is linear.
enum class Linearity {
  None,
  /// The first: a quotient, the gradient of a function.
  First,
  /// The second, whose values the result has.
  Second,
  /// Either, the other being fixed: a product.
  Either,
  /// Both together: a sum.
  Both,
};

/// Broadcasts all operands to the result.
static void setPointwise(NodeRuleBuilder &b) {
  ArrayRef<int64_t> shape = b.getResultShape();
  TensorFactors factors = addDims(b.rule, shape);
  b.setResult(factors);
  for (StringRef name : b.args.getNames())
    b.setBroadcast(name, factors, shape);
}

template <Linearity L> static void buildPointwise(NodeRuleBuilder &b) {
  setPointwise(b);
  ArrayRef<StringRef> names = b.args.getNames();
  if (L == Linearity::First || L == Linearity::Either)
    b.addLinear(names[0]);
  if (L == Linearity::Second || L == Linearity::Either)
    b.addLinear(names[1]);
  if (L == Linearity::Both)
    b.addLinear({names[0], names[1]});
}

/// The difference from a pointwise function: with a rounding mode, a quotient
/// is not linear.
static void buildDivWithMode(NodeRuleBuilder &b) {
  setPointwise(b);
  if (!b.args.has("rounding_mode"))
    b.addLinear({"self"});
}

static void buildPowScalar(NodeRuleBuilder &b) {
  setPointwise(b);
  if (b.args.getFloat("exponent") == 1)
    b.addLinear({"self"});
}

/// condition ? first : second is linear in both together, and in one of them if
/// the other is zero.
static void addChoice(NodeRuleBuilder &b, StringRef first, StringRef second) {
  setPointwise(b);
  b.addLinear({first, second});
  if (b.isZeroArgument(second))
    b.addLinear(first);
  if (b.isZeroArgument(first))
    b.addLinear(second);
}

static void buildWhere(NodeRuleBuilder &b) { addChoice(b, "self", "other"); }

static void buildMaskedFill(NodeRuleBuilder &b) {
  addChoice(b, "self", "value");
}

/// self + value * tensor1 * tensor2.
static void buildAddcmul(NodeRuleBuilder &b) {
  setPointwise(b);
  b.addLinear({"self", "tensor1"});
  b.addLinear({"self", "tensor2"});
}

/// self + value * tensor1 / tensor2.
static void buildAddcdiv(NodeRuleBuilder &b) {
  setPointwise(b);
  b.addLinear({"self", "tensor1"});
}

static void addUnaryRules(NodeRuleTable &table) {
  BuildFn build = buildPointwise<Linearity::None>;
  for (StringRef name :
       {"abs",         "exp",        "exp2",     "expm1",     "log",
        "log1p",       "log2",       "log10",    "sqrt",      "rsqrt",
        "reciprocal",  "sigmoid",    "tanh",     "erf",       "erfc",
        "sin",         "cos",        "tan",      "sinh",      "cosh",
        "asin",        "acos",       "atan",     "asinh",     "acosh",
        "atanh",       "floor",      "ceil",     "round",     "trunc",
        "frac",        "sign",       "sgn",      "relu",      "relu6",
        "silu",        "mish",       "square",   "hardswish", "hardsigmoid",
        "isnan",       "isinf",      "isfinite", "signbit",   "logical_not",
        "bitwise_not", "log_sigmoid"})
    table[("aten." + name + ".default").str()] = {"self", build};
  table["aten.gelu.default"] = {"self approximate", build};
  table["aten.leaky_relu.default"] = {"self negative_slope", build};
  table["aten.elu.default"] = {"self alpha scale input_scale", build};
  table["aten.hardtanh.default"] = {"self min_val max_val", build};
  table["aten.softplus.default"] = {"self beta threshold", build};
  table["aten.threshold.default"] = {"self threshold value", build};
  table["aten.nan_to_num.default"] = {"self nan posinf neginf", build};
  table["aten.logit.default"] = {"self eps", build};
  table["aten.neg.default"] = {"self", buildPointwise<Linearity::First>};
}

static void addBinaryRules(NodeRuleTable &table) {
  for (StringRef overload : {"Tensor", "Scalar"}) {
    auto add = [&](StringRef name, StringLiteral schema, BuildFn build) {
      table[("aten." + name + "." + overload).str()] = {schema, build};
    };
    for (StringRef name : {"add", "sub", "rsub"})
      add(name, "self other alpha", buildPointwise<Linearity::Both>);
    add("mul", "self other", buildPointwise<Linearity::Either>);
    add("div", "self other", buildPointwise<Linearity::First>);
    for (StringRef name :
         {"eq", "ne", "lt", "le", "gt", "ge", "fmod", "remainder",
          "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift",
          "bitwise_right_shift", "__lshift__", "__rshift__"})
      add(name, "self other", buildPointwise<Linearity::None>);
  }
  for (StringRef name :
       {"maximum", "minimum", "logical_and", "logical_or", "logical_xor",
        "fmax", "fmin", "atan2", "hypot", "floor_divide"})
    table[("aten." + name + ".default").str()] = {
        "self other", buildPointwise<Linearity::None>};
  for (StringRef overload : {"Tensor_mode", "Scalar_mode"})
    table[("aten.div." + overload).str()] = {"self other rounding_mode",
                                             buildDivWithMode};
  table["aten.pow.Tensor_Scalar"] = {"self exponent", buildPowScalar};
  table["aten.pow.Tensor_Tensor"] = {"self exponent",
                                     buildPointwise<Linearity::None>};
  table["aten.pow.Scalar"] = {"self exponent", buildPointwise<Linearity::None>};
}

/// Gradients of functions: linear in that of the function's result.
static void addGradientRules(NodeRuleTable &table) {
  BuildFn build = buildPointwise<Linearity::First>;
  for (StringRef name : {"sigmoid_backward", "tanh_backward"})
    table[("aten." + name + ".default").str()] = {"grad_output output", build};
  for (StringRef name : {"silu_backward", "mish_backward", "hardswish_backward",
                         "hardsigmoid_backward"})
    table[("aten." + name + ".default").str()] = {"grad_output self", build};
  table["aten.gelu_backward.default"] = {"grad_output self approximate", build};
  table["aten.threshold_backward.default"] = {"grad_output self threshold",
                                              build};
  table["aten.hardtanh_backward.default"] = {"grad_output self min_val max_val",
                                             build};
  table["aten.leaky_relu_backward.default"] = {
      "grad_output self negative_slope self_is_result", build};
  table["aten.elu_backward.default"] = {
      "grad_output alpha scale input_scale is_result self_or_result", build};
  table["aten.softplus_backward.default"] = {"grad_output self beta threshold",
                                             build};
  table["aten.logit_backward.default"] = {"grad_output self eps", build};
  table["aten.native_dropout_backward.default"] = {"grad_output mask scale",
                                                   build};
}

static void addChoiceRules(NodeRuleTable &table) {
  BuildFn build = buildPointwise<Linearity::None>;
  for (StringRef overload : {"default", "Tensor"}) {
    table[("aten.clamp." + overload).str()] = {"self min max", build};
    table[("aten.clamp_min." + overload).str()] = {"self min", build};
    table[("aten.clamp_max." + overload).str()] = {"self max", build};
  }
  for (StringRef overload : {"self", "ScalarSelf", "ScalarOther", "Scalar"})
    table[("aten.where." + overload).str()] = {"condition self other",
                                               buildWhere};
  for (StringRef overload : {"Scalar", "Tensor"})
    table[("aten.masked_fill." + overload).str()] = {"self mask value",
                                                     buildMaskedFill};
  for (StringRef overload : {"default", "Scalar"}) {
    StringLiteral schema = "self tensor1 tensor2 value";
    table[("aten.addcmul." + overload).str()] = {schema, buildAddcmul};
    table[("aten.addcdiv." + overload).str()] = {schema, buildAddcdiv};
  }
  table["aten.lerp.Scalar"] = {"self end weight",
                               buildPointwise<Linearity::Both>};
  table["aten.lerp.Tensor"] = {"self end weight",
                               buildPointwise<Linearity::Both>};
}

/// Copies, which are linear unless they convert to a type that rounds.
static void addConversionRules(NodeRuleTable &table) {
  BuildFn build = buildPointwise<Linearity::First>;
  for (StringRef name : {"_to_copy", "clone", "detach", "alias",
                         "lift_fresh_copy", "contiguous"})
    table[("aten." + name + ".default").str()] = {"self", build};
  table["aten.to.dtype"] = {"self dtype non_blocking copy memory_format",
                            build};
  table["prims.convert_element_type.default"] = {"self dtype", build};
  table["aten.copy.default"] = {"self src non_blocking",
                                buildPointwise<Linearity::Second>};
}

void regather::tg::sharding::addElementwiseRules(NodeRuleTable &table) {
  addUnaryRules(table);
  addBinaryRules(table);
  addGradientRules(table);
  addChoiceRules(table);
  addConversionRules(table);
}
