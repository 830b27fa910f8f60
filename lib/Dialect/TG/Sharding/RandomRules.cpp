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
  table.add({Operator::AtenBernoulli, Operator::AtenExponential,
             Operator::AtenNativeDropout, Operator::AtenNormal,
             Operator::AtenNormalFunctional, Operator::AtenRand,
             Operator::AtenRandLike, Operator::AtenRandint,
             Operator::AtenRandintLike, Operator::AtenRandn,
             Operator::AtenRandnLike, Operator::AtenRreluWithNoiseFunctional,
             Operator::AtenUniform},
            {buildDraw});
  table.add(Operator::AtenRreluWithNoiseBackward, {buildBackward});
}
