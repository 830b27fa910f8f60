//===- ConstantRules.cpp - Rules of nodes that make constants -------------===//
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

static void buildFilled(NodeRuleBuilder &b) {
  b.setResult(addDims(b.rule, b.getResultShape()));
  // Of `self`, new_zeros and the like take the type.
  b.addUnread("self");
}

/// Makes a tensor of the shape of self.
static void buildFilledLike(NodeRuleBuilder &b) {
  TensorFactors factors = addDims(b.rule, b.getResultShape());
  b.setOperand("self", factors);
  b.setResult(factors);
  b.addLinear({"value"});
}

/// Values depend on positions.
static void buildWhole(NodeRuleBuilder &) {}

void regather::tg::sharding::addConstantRules(NodeRuleTable &table) {
  SizeArgument sizes = {"size"};
  table["aten.full.default"] = {"size fill_value", buildFilled, sizes};
  table["aten.new_full.default"] = {"self size fill_value", buildFilled, sizes};
  for (StringRef name : {"zeros", "ones"})
    table[("aten." + name + ".default").str()] = {"size", buildFilled, sizes};
  table["aten.empty.memory_format"] = {"size", buildFilled, sizes};
  table["aten.empty_permuted.default"] = {"size physical_layout", buildFilled,
                                          sizes};
  for (StringRef name : {"new_zeros", "new_ones", "new_empty"})
    table[("aten." + name + ".default").str()] = {"self size", buildFilled,
                                                  sizes};
  for (StringRef name : {"zeros_like", "ones_like", "empty_like"})
    table[("aten." + name + ".default").str()] = {"self", buildFilledLike};
  table["aten.full_like.default"] = {"self fill_value", buildFilledLike};
  table["aten.fill.Scalar"] = {"self value", buildFilledLike};
  table["aten.fill.Tensor"] = {"self value", buildFilledLike};
  table["aten.scalar_tensor.default"] = {"s", buildWhole};
  table["aten.arange.default"] = {"end", buildWhole};
  table["aten.arange.start"] = {"start end", buildWhole};
  table["aten.arange.start_step"] = {"start end step", buildWhole};
}
