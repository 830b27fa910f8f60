//===- RandomRules.cpp - Rules of nodes that draw random numbers ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A node that draws is a function of the bits that it is given, element by
// element: parts of the bits give parts of the whole.
//
//===----------------------------------------------------------------------===//

#include "NodeRules.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::sharding;

/// Broadcasts all operands to the results, which have one shape.
static void buildDraw(NodeRuleBuilder &b) {
  ArrayRef<int64_t> shape = b.getResultShape();
  TensorFactors factors = addDims(b.rule, shape);
  for (unsigned i = 0; b.hasResult(i); ++i)
    b.setResult(factors, i);
  for (StringRef name : b.args.getNames())
    b.setBroadcast(name, factors, shape);
}

static void buildBackward(NodeRuleBuilder &b) {
  buildDraw(b);
  b.addLinear({"grad_output"});
}

void regather::tg::sharding::addRandomRules(NodeRuleTable &table) {
  SizeArgument sizes = {"size"};
  table["aten.native_dropout.default"] = {"input p train bits", buildDraw};
  table["aten.bernoulli.default"] = {"self bits", buildDraw};
  table["aten.bernoulli.p"] = {"self p bits", buildDraw};
  table["aten.bernoulli.Tensor"] = {"self p bits", buildDraw};
  table["aten.rand.default"] = {"size bits", buildDraw, sizes};
  table["aten.rand_like.default"] = {"self bits", buildDraw};
  table["aten.uniform.default"] = {"self from to bits", buildDraw};
  table["aten.exponential.default"] = {"self lambd bits", buildDraw};
  table["aten.randn.default"] = {"size bits", buildDraw, sizes};
  table["aten.randn_like.default"] = {"self bits", buildDraw};
  table["aten.normal_functional.default"] = {"self mean std bits", buildDraw};
  table["aten.normal.float_float"] = {"mean std size bits", buildDraw, sizes};
  for (StringRef overload : {"Tensor_float", "float_Tensor", "Tensor_Tensor"})
    table[("aten.normal." + overload).str()] = {"mean std bits", buildDraw};
  table["aten.randint.default"] = {"high size bits", buildDraw, sizes};
  table["aten.randint.low"] = {"low high size bits", buildDraw, sizes};
  table["aten.randint_like.default"] = {"self high bits", buildDraw};
  table["aten.randint_like.low_dtype"] = {"self low high bits", buildDraw};
  table["aten.rrelu_with_noise_functional.default"] = {
      "self noise lower upper training bits", buildDraw};
  table["aten.rrelu_with_noise_backward.default"] = {
      "grad_output self noise lower upper training self_is_result",
      buildBackward};
}
