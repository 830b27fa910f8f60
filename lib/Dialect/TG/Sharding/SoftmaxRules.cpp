//===- SoftmaxRules.cpp - Rules of softmax --------------------------------===//
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

/// Operands and result have one shape and need `dim` whole.
static void setAligned(NodeRuleBuilder &b, ArrayRef<StringRef> operands) {
  ArrayRef<int64_t> shape = b.getResultShape();
  int64_t dim = b.args.getDim("dim", shape.size());
  TensorFactors factors = addDims(b.rule, shape);
  if (!shape.empty())
    factors[dim] = addDim(b.rule, shape[dim], FactorKind::Whole);
  for (StringRef operand : operands)
    b.setOperand(operand, factors);
  b.setResult(factors);
}

static void buildSoftmax(NodeRuleBuilder &b) { setAligned(b, {"self"}); }

static void buildSoftmaxBackward(NodeRuleBuilder &b) {
  setAligned(b, {"grad_output", "output"});
  b.addLinear({"grad_output"});
}

void regather::tg::sharding::addSoftmaxRules(NodeRuleTable &table) {
  table.add({Operator::AtenLogSoftmax, Operator::AtenSoftmax}, {buildSoftmax});
  table.add(
      {Operator::AtenLogSoftmaxBackwardData, Operator::AtenSoftmaxBackwardData},
      {buildSoftmaxBackward});
}
