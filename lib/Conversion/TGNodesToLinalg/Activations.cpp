//===- Activations.cpp - Expansions of activation functions ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementOperands.h"

using namespace mlir;
using namespace regather::nodes;

/// Applies `fn` to the elements of "self" in the compute type.
static LogicalResult finishActivation(NodeArguments &args, NodeBuilder &b,
                                      ElementFn fn) {
  ElementOperands operands = {{args.getTensor("self"), {}}};
  if (args.hasFailed())
    return failure();
  if (!isa<FloatType>(b.getElement()))
    return args.fail("expects a result that is a float");
  return finishPointwise(args, b, operands, getComputeType(b.getElement()), fn);
}

/// x where it is positive, else `negative`, which is none for zero. A NaN stays
/// one.
static Value selectPositive(B &b, Value x, Value negative) {
  Value zero = makeConstant(b, x.getType(), 0.0);
  Value isNegative = compare(b, Relation::Le, x, zero);
  return arith::SelectOp::create(b, isNegative, negative ? negative : zero, x);
}

static LogicalResult buildRelu(NodeArguments &args, NodeBuilder &b) {
  ElementOperands operands = {{args.getTensor("self"), {}}};
  if (args.hasFailed())
    return failure();
  return finishPointwise(
      args, b, operands, getComputeType(b.getElement()),
      [](B &b, ValueRange v) { return selectPositive(b, v[0], {}); });
}

static LogicalResult buildSilu(NodeArguments &args, NodeBuilder &b) {
  return finishActivation(args, b, [](B &b, ValueRange v) {
    return mul(b, v[0], sigmoid(b, v[0]));
  });
}

static LogicalResult buildLeakyRelu(NodeArguments &args, NodeBuilder &b) {
  double slope = args.getFloat("negative_slope", 0.01);
  return finishActivation(args, b, [&](B &b, ValueRange v) {
    Value scaled = mul(b, v[0], makeConstant(b, v[0].getType(), slope));
    return selectPositive(b, v[0], scaled);
  });
}

/// scale * x where x is positive, else
/// scale * alpha * (exp(x * input_scale) - 1).
static LogicalResult buildElu(NodeArguments &args, NodeBuilder &b) {
  double alpha = args.getFloat("alpha", 1), scale = args.getFloat("scale", 1);
  double inputScale = args.getFloat("input_scale", 1);
  return finishActivation(args, b, [&](B &b, ValueRange v) {
    auto times = [&](Value x, double number) {
      return number == 1 ? x : mul(b, x, makeConstant(b, x.getType(), number));
    };
    Value power = math::ExpM1Op::create(b, times(v[0], inputScale));
    return times(selectPositive(b, v[0], times(power, alpha)), scale);
  });
}

static LogicalResult buildHardTanh(NodeArguments &args, NodeBuilder &b) {
  double low = args.getFloat("min_val", -1), high = args.getFloat("max_val", 1);
  return finishActivation(args, b, [&](B &b, ValueRange v) {
    Type type = v[0].getType();
    Value bounded = maximum(b, v[0], makeConstant(b, type, low));
    return minimum(b, bounded, makeConstant(b, type, high));
  });
}

/// x / 2 * (1 + erf(x / sqrt(2))), or with tanh as an approximation of erf.
static LogicalResult buildGelu(NodeArguments &args, NodeBuilder &b) {
  StringRef approximate = args.getString("approximate", "none");
  if (args.hasFailed())
    return failure();
  if (approximate != "none" && approximate != "tanh")
    return args.fail("approximate", "must be \"none\" or \"tanh\", got \"" +
                                        approximate + "\"");
  return finishActivation(args, b, [&](B &b, ValueRange v) -> Value {
    Value x = v[0];
    auto number = [&](double n) { return makeConstant(b, x.getType(), n); };
    Value bent;
    if (approximate == "none") {
      bent = math::ErfOp::create(b, mul(b, x, number(M_SQRT1_2)));
    } else {
      Value cube = mul(b, mul(b, x, x), x);
      Value inner = add(b, x, mul(b, number(0.044715), cube));
      // sqrt(2 / pi)
      bent = math::TanhOp::create(
          b, mul(b, number(M_SQRT2 * M_2_SQRTPI * 0.5), inner));
    }
    return mul(b, mul(b, number(0.5), x), add(b, number(1), bent));
  });
}

void regather::nodes::addActivationBuilders(BuilderTable &table) {
  table.add(Operator::AtenElu, buildElu);
  table.add(Operator::AtenGelu, buildGelu);
  table.add(Operator::AtenHardtanh, buildHardTanh);
  table.add(Operator::AtenLeakyRelu, buildLeakyRelu);
  table.add(Operator::AtenRelu, buildRelu);
  table.add(Operator::AtenSilu, buildSilu);
}
