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

void regather::tg::sharding::addConstantRules(NodeRuleTable &table) {
  table.add({Operator::AtenEmpty, Operator::AtenEmptyPermuted,
             Operator::AtenEmptyStrided, Operator::AtenFull,
             Operator::AtenNewEmpty, Operator::AtenNewEmptyStrided,
             Operator::AtenNewFull, Operator::AtenNewOnes,
             Operator::AtenNewZeros, Operator::AtenOnes, Operator::AtenZeros},
            {buildFilled});
  table.add({Operator::AtenEmptyLike, Operator::AtenFill,
             Operator::AtenFullLike, Operator::AtenOnesLike,
             Operator::AtenZerosLike},
            {buildFilledLike});
}
