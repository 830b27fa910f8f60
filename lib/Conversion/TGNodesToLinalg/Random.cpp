//===- Random.cpp - Expansions that draw random numbers -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each element of a result is a function of one element of the argument `bits`.
// docs/fx-json.md lists these functions; changing one changes what users drew.
//
//===----------------------------------------------------------------------===//

#include "NodeBuilder.h"
#include "StructuredOps.h"

#include "regather/Dialect/TG/Nodes/RandomTargets.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace regather::nodes;

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// The bits that the node draws from, or null after an error.
static Tensor getBits(NodeArguments &args, NodeBuilder &b) {
  Tensor bits = args.getTensor(kBitsName);
  if (args.hasFailed())
    return nullptr;
  RankedTensorType expected =
      getBitsType(args.getNode().getTarget(), b.getResultType());
  if (bits.getType() == expected)
    return bits;
  std::string text;
  llvm::raw_string_ostream(text)
      << "must have type " << expected << ", got " << bits.getType();
  (void)args.fail(kBitsName, text);
  return nullptr;
}

/// A number of the framework between `least` and `most`.
static double getNumberBetween(NodeArguments &args, StringRef name,
                               std::optional<double> standard, double least,
                               double most) {
  double value = args.getFloat(name, standard);
  if (!args.hasFailed() && !(value >= least && value <= most)) {
    std::string text;
    llvm::raw_string_ostream(text)
        << "must be from " << least << " to " << most << ", got " << value;
    (void)args.fail(name, text);
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Fractions
//===----------------------------------------------------------------------===//

/// Digits of the significand, the leading one included.
static unsigned getPrecision(Type element) {
  return cast<FloatType>(element).getFPMantissaWidth();
}

/// The number k that the `count` leading bits spell, as k / 2^count.
static Value emitFraction(B &b, Value bits, unsigned count, Type compute) {
  unsigned width = bits.getType().getIntOrFloatBitWidth();
  if (count < width) {
    Value distance = arith::ConstantOp::create(
        b, b.getIntegerAttr(bits.getType(), width - count));
    bits = arith::ShRUIOp::create(b, bits, distance);
  }
  Value number = arith::UIToFPOp::create(b, compute, bits);
  return mul(
      b, number,
      makeConstant(b, compute, std::ldexp(1.0, -static_cast<int>(count))));
}

/// Uniform in [0, 1), and exact in `element`.
static Value emitHalfOpen(B &b, Value bits, Type element) {
  unsigned width = bits.getType().getIntOrFloatBitWidth();
  return emitFraction(b, bits, std::min(getPrecision(element), width),
                      getComputeType(element));
}

/// Uniform in (0, 1): the middles of the intervals of length 2^-count.
static Value emitOpen(B &b, Value bits, Type compute) {
  unsigned width = bits.getType().getIntOrFloatBitWidth();
  unsigned count = std::min(getPrecision(compute) - 1, width);
  Value half =
      makeConstant(b, compute, std::ldexp(1.0, -static_cast<int>(count) - 1));
  return add(b, emitFraction(b, bits, count, compute), half);
}

/// Compares the fraction that the 24 leading bits spell with a probability.
/// Both are multiplied by 2^24, which makes the left side an integer.
static Value compareFraction(B &b, arith::CmpIPredicate predicate, Value bits,
                             double probability) {
  auto word = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b,
                                     b.getIntegerAttr(bits.getType(), value));
  };
  auto threshold = static_cast<int64_t>(std::ceil(probability * 0x1p24));
  Value leading = arith::ShRUIOp::create(b, bits, word(8));
  return arith::CmpIOp::create(b, predicate, leading, word(threshold));
}

//===----------------------------------------------------------------------===//
// Bernoulli
//===----------------------------------------------------------------------===//

/// Multiplies with the mask and then with the scale, as PyTorch does, so that a
/// dropped infinity becomes a NaN.
static LogicalResult buildDropout(NodeArguments &args, NodeBuilder &b) {
  Tensor input = args.getTensor("input");
  double p = getNumberBetween(args, "p", std::nullopt, 0, 1);
  bool train = args.getBool("train", true);
  if (failed(args.expectShape("input", input, b.getShape())))
    return failure();
  if (!isa<FloatType>(b.getElement()))
    return args.fail("expects a result of floats");
  if (!train)
    return b.finish({convertTensor(b, input, b.getElement()),
                     fill(b, b.getShape(), b.getBoolAttr(true))});
  Tensor bits = getBits(args, b);
  if (!bits)
    return failure();
  Tensor mask =
      pointwise(b, b.getShape(), b.getI1Type(), bits, [&](B &b, ValueRange v) {
        return compareFraction(b, arith::CmpIPredicate::uge, v[0], p);
      });
  Type compute = getComputeType(b.getElement());
  double scale = p == 1 ? 0 : 1 / (1 - p);
  Tensor output = pointwise(
      b, b.getShape(), b.getElement(), {input, mask}, [&](B &b, ValueRange v) {
        Value element = convertElement(b, v[0], compute);
        Value kept = mul(b, element, convertElement(b, v[1], compute));
        return mul(b, kept, makeConstant(b, compute, scale));
      });
  return b.finish({output, mask});
}

/// One where a fraction is below the probability, which is a tensor.
static LogicalResult finishBernoulli(NodeArguments &args, NodeBuilder &b,
                                     StringRef name) {
  Tensor probability = args.getTensor(name);
  Tensor bits = getBits(args, b);
  if (!bits || failed(args.expectBroadcast(probability, b.getShape())))
    return failure();
  if (!isa<FloatType>(probability.getType().getElementType()))
    return args.fail(name, "must hold floats");
  return b.finish(pointwise(b, b.getShape(), b.getElement(),
                            {bits, probability}, [&](B &b, ValueRange v) {
                              Type compute = getComputeType(v[1].getType());
                              Value fraction =
                                  emitFraction(b, v[0], 24, compute);
                              return compare(b, Relation::Lt, fraction,
                                             convertElement(b, v[1], compute));
                            }));
}

static LogicalResult buildBernoulli(NodeArguments &args, NodeBuilder &b) {
  return finishBernoulli(args, b, "self");
}

static LogicalResult buildBernoulliTensor(NodeArguments &args, NodeBuilder &b) {
  return finishBernoulli(args, b, "p");
}

static LogicalResult buildBernoulliNumber(NodeArguments &args, NodeBuilder &b) {
  double p = getNumberBetween(args, "p", 0.5, 0, 1);
  Tensor bits = getBits(args, b);
  if (!bits || args.hasFailed())
    return failure();
  return b.finish(
      pointwise(b, b.getShape(), b.getElement(), bits, [&](B &b, ValueRange v) {
        return compareFraction(b, arith::CmpIPredicate::ult, v[0], p);
      }));
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

/// Computes each element of a float result from its bits.
static LogicalResult finishFloat(NodeArguments &args, NodeBuilder &b,
                                 llvm::function_ref<Value(B &, Value)> fn) {
  if (!isa<FloatType>(b.getElement()))
    return args.fail("expects a result of floats");
  Tensor bits = getBits(args, b);
  if (!bits || args.hasFailed())
    return failure();
  return b.finish(pointwise(b, b.getShape(), b.getElement(), bits,
                            [&](B &b, ValueRange v) { return fn(b, v[0]); }));
}

static LogicalResult buildRand(NodeArguments &args, NodeBuilder &b) {
  Type element = b.getElement();
  return finishFloat(args, b, [&](B &b, Value bits) {
    return emitHalfOpen(b, bits, element);
  });
}

/// from + u * (to - from).
static Value emitUniform(B &b, Value bits, Type element, double from,
                         double to) {
  Type compute = getComputeType(element);
  Value fraction = emitHalfOpen(b, bits, element);
  Value distance = mul(b, fraction, makeConstant(b, compute, to - from));
  return add(b, distance, makeConstant(b, compute, from));
}

static LogicalResult buildUniform(NodeArguments &args, NodeBuilder &b) {
  double from = args.getFloat("from", 0), to = args.getFloat("to", 1);
  if (!args.hasFailed() && !(from <= to))
    return args.fail("to", "must not be less than \"from\"");
  Type element = b.getElement();
  return finishFloat(args, b, [&](B &b, Value bits) {
    return emitUniform(b, bits, element, from, to);
  });
}

static LogicalResult buildExponential(NodeArguments &args, NodeBuilder &b) {
  double rate = args.getFloat("lambd", 1);
  if (!args.hasFailed() && !(rate > 0))
    return args.fail("lambd", "must be positive");
  Type compute = getComputeType(b.getElement());
  return finishFloat(args, b, [&](B &b, Value bits) {
    Value logarithm = math::LogOp::create(b, emitOpen(b, bits, compute));
    return div(b, logarithm, makeConstant(b, compute, -rate));
  });
}

/// Standard normal by the cosine of Box and Muller's transform.
/// Source: Box and Muller, Annals of Mathematical Statistics 29, 1958.
static Value emitNormal(B &b, Value bits, Type compute) {
  Type word = b.getI32Type();
  Value distance =
      arith::ConstantOp::create(b, b.getIntegerAttr(bits.getType(), 32));
  Value upper = arith::TruncIOp::create(
      b, word, arith::ShRUIOp::create(b, bits, distance));
  Value lower = arith::TruncIOp::create(b, word, bits);
  Value logarithm = math::LogOp::create(b, emitOpen(b, upper, compute));
  Value radius = math::SqrtOp::create(
      b, mul(b, logarithm, makeConstant(b, compute, -2.0)));
  Value turns = emitHalfOpen(b, lower, compute);
  Value angle = mul(b, turns, makeConstant(b, compute, 2 * llvm::numbers::pi));
  return mul(b, radius, math::CosOp::create(b, angle));
}

static LogicalResult buildRandn(NodeArguments &args, NodeBuilder &b) {
  Type compute = getComputeType(b.getElement());
  return finishFloat(
      args, b, [&](B &b, Value bits) { return emitNormal(b, bits, compute); });
}

/// mean + deviation * standard normal, each a tensor or a number.
static LogicalResult buildNormal(NodeArguments &args, NodeBuilder &b) {
  if (!isa<FloatType>(b.getElement()))
    return args.fail("expects a result of floats");
  SmallVector<Tensor, 3> tensors = {getBits(args, b)};
  double numbers[] = {0, 0};
  bool isTensor[] = {args.isTensor("mean"), args.isTensor("std")};
  if (isTensor[0])
    tensors.push_back(args.getTensor("mean"));
  else
    numbers[0] = args.getFloat("mean", 0);
  if (isTensor[1])
    tensors.push_back(args.getTensor("std"));
  else
    numbers[1] = args.getFloat("std", 1);
  if (!args.hasFailed() && numbers[1] < 0)
    return args.fail("std", "must not be negative");
  if (failed(args.expectBroadcast(tensors, b.getShape())))
    return failure();
  Type compute = getComputeType(b.getElement());
  return b.finish(pointwise(
      b, b.getShape(), b.getElement(), tensors, [&](B &b, ValueRange v) {
        size_t next = 1;
        Value parts[2];
        for (unsigned i : {0, 1})
          parts[i] = isTensor[i] ? convertElement(b, v[next++], compute)
                                 : makeConstant(b, compute, numbers[i]);
        return add(b, mul(b, emitNormal(b, v[0], compute), parts[1]), parts[0]);
      }));
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// low + the upper half of bits * (high - low). The probabilities of n values
/// differ by at most n / 2^64.
static LogicalResult buildRandint(NodeArguments &args, NodeBuilder &b) {
  int64_t low = args.has("low") ? args.getInt("low") : 0;
  int64_t high = args.getInt("high");
  Tensor bits = getBits(args, b);
  if (!bits || args.hasFailed())
    return failure();
  if (low >= high)
    return args.fail("high", "must be more than " + Twine(low) + ", got " +
                                 Twine(high));
  auto count = static_cast<int64_t>(static_cast<uint64_t>(high) -
                                    static_cast<uint64_t>(low));
  return b.finish(pointwise(
      b, b.getShape(), b.getElement(), bits, [&](B &b, ValueRange v) -> Value {
        auto number = [&](int64_t value) -> Value {
          return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
        };
        auto product = arith::MulUIExtendedOp::create(b, v[0], number(count));
        return arith::AddIOp::create(b, product.getHigh(), number(low));
      }));
}

//===----------------------------------------------------------------------===//
// Leaky units with a random slope
//===----------------------------------------------------------------------===//

/// x where it is positive, else x times the slope.
static Tensor applySlope(B &b, Tensor x, Tensor slope, Type element) {
  Type compute = getComputeType(element);
  return pointwise(b, x.getType().getShape(), element, {x, slope},
                   [&](B &b, ValueRange v) {
                     Value value = convertElement(b, v[0], compute);
                     return mul(b, value, convertElement(b, v[1], compute));
                   });
}

/// One where `x` is positive, else what `fn` computes from the bits.
static Tensor chooseSlopes(B &b, Tensor x, ArrayRef<Tensor> bits,
                           llvm::function_ref<Value(B &, ValueRange)> fn) {
  Type element = x.getType().getElementType();
  Type compute = getComputeType(element);
  SmallVector<Tensor> tensors = {x};
  llvm::append_range(tensors, bits);
  return pointwise(b, x.getType().getShape(), element, tensors,
                   [&](B &b, ValueRange v) -> Value {
                     Value value = convertElement(b, v[0], compute);
                     Value slope = fn(b, v.drop_front());
                     Value isNegative = compare(b, Relation::Le, value,
                                                makeConstant(b, compute, 0.0));
                     return arith::SelectOp::create(
                         b, isNegative, slope, makeConstant(b, compute, 1.0));
                   });
}

/// The slopes outside of training: the middle of the range.
static Tensor makeMiddleSlopes(B &b, Tensor x, double lower, double upper) {
  return chooseSlopes(b, x, {}, [&](B &b, ValueRange) {
    return makeConstant(b, getComputeType(x.getType().getElementType()),
                        (lower + upper) / 2);
  });
}

static LogicalResult buildRrelu(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  double lower = args.getFloat("lower", 0.125);
  double upper = args.getFloat("upper", 1.0 / 3);
  Type element = b.getElement();
  if (failed(args.expectShape("self", self, b.getShape())))
    return failure();
  if (!isa<FloatType>(element))
    return args.fail("expects a result of floats");
  if (!args.getBool("training", false)) {
    Tensor noise = args.getTensor("noise");
    if (failed(args.expectShape("noise", noise, b.getShape())))
      return failure();
    Tensor slopes = makeMiddleSlopes(b, self, lower, upper);
    return b.finish({applySlope(b, self, slopes, element), noise});
  }
  Tensor bits = getBits(args, b);
  if (!bits)
    return failure();
  Tensor slopes = chooseSlopes(b, self, bits, [&](B &b, ValueRange v) {
    return emitUniform(b, v[0], element, lower, upper);
  });
  return b.finish({applySlope(b, self, slopes, element), slopes});
}

/// In training, if slopes are drawn from a range, the noise holds them.
static LogicalResult buildRreluBackward(NodeArguments &args, NodeBuilder &b) {
  Tensor grad = args.getTensor("grad_output"), self = args.getTensor("self");
  Tensor noise = args.getTensor("noise");
  double lower = args.getFloat("lower"), upper = args.getFloat("upper");
  bool training = args.getBool("training");
  if (failed(args.expectBroadcast({grad, self, noise}, b.getShape())))
    return failure();
  if (!training || upper - lower <= 1e-6)
    noise = makeMiddleSlopes(b, self, lower, upper);
  return b.finish(applySlope(b, grad, noise, b.getElement()));
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

void regather::nodes::addRandomBuilders(BuilderTable &table) {
  table.add(Target::AtenBernoulliDefault, buildBernoulli);
  table.add(Target::AtenBernoulliP, buildBernoulliNumber);
  table.add(Target::AtenBernoulliTensor, buildBernoulliTensor);
  table.add(Operator::AtenExponential, buildExponential);
  table.add(Operator::AtenNativeDropout, buildDropout);
  table.add({Operator::AtenNormal, Operator::AtenNormalFunctional},
            buildNormal);
  table.add({Operator::AtenRand, Operator::AtenRandLike}, buildRand);
  table.add({Operator::AtenRandint, Operator::AtenRandintLike}, buildRandint);
  table.add({Operator::AtenRandn, Operator::AtenRandnLike}, buildRandn);
  table.add(Operator::AtenRreluWithNoiseBackward, buildRreluBackward);
  table.add(Operator::AtenRreluWithNoiseFunctional, buildRrelu);
  table.add(Operator::AtenUniform, buildUniform);
}
