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

void regather::tg::sharding::addElementwiseRules(NodeRuleTable &table) {
  table.add(OperatorClass::Elementwise, {buildPointwise<Linearity::None>});
  table.add({Operator::AtenAdd, Operator::AtenLerp, Operator::AtenRsub,
             Operator::AtenSub},
            {buildPointwise<Linearity::Both>});
  table.add(Operator::AtenAddcdiv, {buildAddcdiv});
  table.add(Operator::AtenAddcmul, {buildAddcmul});
  table.add({Operator::AtenAlias,
             Operator::AtenClone,
             Operator::AtenContiguous,
             Operator::AtenDetach,
             Operator::AtenEluBackward,
             Operator::AtenGeluBackward,
             Operator::AtenHardsigmoidBackward,
             Operator::AtenHardswishBackward,
             Operator::AtenHardtanhBackward,
             Operator::AtenLeakyReluBackward,
             Operator::AtenLiftFreshCopy,
             Operator::AtenLogitBackward,
             Operator::AtenMishBackward,
             Operator::AtenNativeDropoutBackward,
             Operator::AtenNeg,
             Operator::AtenSigmoidBackward,
             Operator::AtenSiluBackward,
             Operator::AtenSoftplusBackward,
             Operator::AtenTanhBackward,
             Operator::AtenThresholdBackward,
             Operator::AtenTo,
             Operator::AtenToCopy,
             Operator::PrimsConvertElementType},
            {buildPointwise<Linearity::First>});
  table.add({Target::AtenDivScalar, Target::AtenDivTensor},
            {buildPointwise<Linearity::First>});
  table.add(Operator::AtenCopy, {buildPointwise<Linearity::Second>});
  table.add({Target::AtenDivScalarMode, Target::AtenDivTensorMode},
            {buildDivWithMode});
  table.add(Operator::AtenMaskedFill, {buildMaskedFill});
  table.add(Operator::AtenMul, {buildPointwise<Linearity::Either>});
  table.add(Target::AtenPowTensorScalar, {buildPowScalar});
  table.add(Operator::AtenWhere, {buildWhere});
}
