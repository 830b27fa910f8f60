//===- OptimizerUpdate.cpp - Update one parameter -------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order of operations is that of torch.optim without `foreach`, `fused` and
// `capturable`, so that an f32 parameter differs from PyTorch's by rounding:
//
//   AdamW   p = p * (1 - lr * weight_decay)
//           m = m + (1 - beta1) * (g - m)
//           v = v * beta2 + (1 - beta2) * g * g
//           p = p - lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) +
//           eps)
//
//   SGD     g = g + weight_decay * p
//           b = momentum * b + (1 - dampening) * g     (the first b is g)
//           p = p - lr * (nesterov ? g + momentum * b : b)
//
//===----------------------------------------------------------------------===//

#include "OptimizerUpdate.h"

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>

using namespace mlir;
using namespace regather::tg;
using B = ImplicitLocOpBuilder;

Type regather::tg::getUpdateType(Type element) {
  if (element.isF64())
    return element;
  return Float32Type::get(element.getContext());
}

Value regather::tg::convertFloat(B &b, Value value, Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (from < to)
    return arith::ExtFOp::create(b, type, value);
  if (from > to)
    return arith::TruncFOp::create(b, type, value);
  return value;
}

Value regather::tg::makeFloat(B &b, Type type, double number) {
  return arith::ConstantOp::create(b, b.getFloatAttr(type, number));
}

void regather::tg::markOptimizer(Operation *op, StringAttr module) {
  op->setAttr(kPhaseAttrName,
              PhaseAttr::get(op->getContext(), Phase::Optimizer));
  if (module)
    op->setAttr(kModuleAttrName, module);
}

static Value add(B &b, Value lhs, Value rhs) {
  return arith::AddFOp::create(b, lhs, rhs);
}
static Value sub(B &b, Value lhs, Value rhs) {
  return arith::SubFOp::create(b, lhs, rhs);
}
static Value mul(B &b, Value lhs, Value rhs) {
  return arith::MulFOp::create(b, lhs, rhs);
}
static Value div(B &b, Value lhs, Value rhs) {
  return arith::DivFOp::create(b, lhs, rhs);
}

//===----------------------------------------------------------------------===//
// Once a step
//===----------------------------------------------------------------------===//

/// The scalars of AdamW: minus the step size, the root of the second bias
/// correction, and, with weight decay, what is left of a parameter.
static SmallVector<Value> getAdamWScalars(B &b, const UpdateRule &rule,
                                          Value learningRate, Value step) {
  Value one = makeFloat(b, b.getF64Type(), 1);
  auto getBiasCorrection = [&](double beta) {
    Value base = makeFloat(b, b.getF64Type(), beta);
    return sub(b, one, math::PowFOp::create(b, base, step));
  };
  Value stepSize = div(b, learningRate, getBiasCorrection(rule.beta1));
  SmallVector<Value> scalars = {
      arith::NegFOp::create(b, stepSize),
      math::SqrtOp::create(b, getBiasCorrection(rule.beta2))};
  if (rule.weightDecay != 0) {
    Value decay = makeFloat(b, b.getF64Type(), rule.weightDecay);
    scalars.push_back(sub(b, one, mul(b, learningRate, decay)));
  }
  return scalars;
}

/// The scalars of SGD: minus the learning rate, and, with dampening, the weight
/// of a gradient in the momentum buffer, which begins as the first gradient.
static SmallVector<Value> getSgdScalars(B &b, const UpdateRule &rule,
                                        Value learningRate, Value step) {
  SmallVector<Value> scalars = {arith::NegFOp::create(b, learningRate)};
  if (rule.isDampened()) {
    Value one = makeFloat(b, b.getF64Type(), 1);
    Value isFirst =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, step, one);
    Value weight = makeFloat(b, b.getF64Type(), 1 - rule.dampening);
    scalars.push_back(arith::SelectOp::create(b, isFirst, one, weight));
  }
  return scalars;
}

static unsigned getNumScalars(const UpdateRule &rule) {
  if (rule.kind == OptimizerKind::AdamW)
    return rule.weightDecay != 0 ? 3 : 2;
  return rule.isDampened() ? 2 : 1;
}

SmallVector<Value> regather::tg::buildStepScalars(B &b, const UpdateRule &rule,
                                                  Value learningRate,
                                                  Value step, Type type) {
  SmallVector<Value> inputs = {learningRate};
  if (rule.needsStep())
    inputs.push_back(step);
  unsigned numScalars = getNumScalars(rule);
  Value empty = tensor::EmptyOp::create(b, ArrayRef<int64_t>(), type);
  SmallVector<Value> outputs(numScalars, empty);
  SmallVector<AffineMap> maps(inputs.size() + numScalars,
                              AffineMap::get(b.getContext()));
  auto generic = linalg::GenericOp::create(
      b, ValueRange(outputs).getTypes(), inputs, outputs, maps,
      ArrayRef<utils::IteratorType>(),
      [&](OpBuilder &builder, Location loc, ValueRange elements) {
        B inner(loc, builder);
        Type f64 = inner.getF64Type();
        Value scaled = convertFloat(inner, elements[0], f64);
        if (rule.learningRateScale != 1)
          scaled =
              mul(inner, scaled, makeFloat(inner, f64, rule.learningRateScale));
        Value number;
        if (rule.needsStep())
          number = arith::SIToFPOp::create(inner, f64, elements[1]);
        SmallVector<Value> scalars =
            rule.kind == OptimizerKind::AdamW
                ? getAdamWScalars(inner, rule, scaled, number)
                : getSgdScalars(inner, rule, scaled, number);
        for (Value &scalar : scalars)
          scalar = convertFloat(inner, scalar, type);
        linalg::YieldOp::create(inner, scalars);
      });
  markOptimizer(generic);
  return SmallVector<Value>(generic.getResults());
}

linalg::GenericOp regather::tg::buildIsWanted(B &b, Value loss,
                                              Value overflow) {
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (Value input : {loss, overflow}) {
    if (!input)
      continue;
    // All dimensions have one element.
    int64_t rank = cast<RankedTensorType>(input.getType()).getRank();
    SmallVector<AffineExpr> first(rank, b.getAffineConstantExpr(0));
    inputs.push_back(input);
    maps.push_back(AffineMap::get(0, 0, first, b.getContext()));
  }
  Value empty = tensor::EmptyOp::create(b, ArrayRef<int64_t>(), b.getI1Type());
  markOptimizer(empty.getDefiningOp());
  maps.push_back(AffineMap::get(b.getContext()));
  return linalg::GenericOp::create(
      b, empty.getType(), inputs, empty, maps, ArrayRef<utils::IteratorType>(),
      [&](OpBuilder &builder, Location loc, ValueRange elements) {
        B inner(loc, builder);
        Value wanted;
        if (loss)
          wanted = math::IsFiniteOp::create(inner, elements.front());
        if (overflow) {
          Value missing = elements[inputs.size() - 1];
          Value zero = arith::ConstantOp::create(
              inner, builder.getZeroAttr(missing.getType()));
          Value fits = arith::CmpIOp::create(inner, arith::CmpIPredicate::sle,
                                             missing, zero);
          wanted = wanted ? arith::AndIOp::create(inner, wanted, fits) : fits;
        }
        linalg::YieldOp::create(inner, wanted);
      });
}

//===----------------------------------------------------------------------===//
// Once an element
//===----------------------------------------------------------------------===//

/// The new parameter, average and average of squares.
static SmallVector<Value> getAdamWElements(B &b, const UpdateRule &rule,
                                           Value parameter, Value gradient,
                                           ValueRange states,
                                           ValueRange scalars) {
  Type type = parameter.getType();
  if (rule.weightDecay != 0)
    parameter = mul(b, parameter, scalars[2]);

  // As torch.lerp: from the end that is nearer, so that a weight of 1 gives
  // the gradient itself.
  Value difference = sub(b, gradient, states[0]);
  double weight = 1 - rule.beta1;
  Value average;
  if (weight < 0.5)
    average = add(b, states[0], mul(b, makeFloat(b, type, weight), difference));
  else
    average =
        sub(b, gradient, mul(b, difference, makeFloat(b, type, 1 - weight)));

  Value kept = mul(b, states[1], makeFloat(b, type, rule.beta2));
  Value scaled = mul(b, makeFloat(b, type, 1 - rule.beta2), gradient);
  Value square = add(b, kept, mul(b, scaled, gradient));

  Value root = div(b, math::SqrtOp::create(b, square), scalars[1]);
  Value denominator = add(b, root, makeFloat(b, type, rule.epsilon));
  Value delta = div(b, mul(b, scalars[0], average), denominator);
  return {add(b, parameter, delta), average, square};
}

/// The new parameter and, with momentum, the new buffer.
static SmallVector<Value> getSgdElements(B &b, const UpdateRule &rule,
                                         Value parameter, Value gradient,
                                         ValueRange states,
                                         ValueRange scalars) {
  Type type = parameter.getType();
  if (rule.weightDecay != 0)
    gradient = add(b, gradient,
                   mul(b, makeFloat(b, type, rule.weightDecay), parameter));
  if (rule.momentum == 0)
    return {add(b, parameter, mul(b, scalars[0], gradient))};

  Value momentum = makeFloat(b, type, rule.momentum);
  Value fresh = rule.isDampened() ? mul(b, scalars[1], gradient) : gradient;
  Value buffer = add(b, mul(b, states[0], momentum), fresh);
  Value direction =
      rule.nesterov ? add(b, gradient, mul(b, momentum, buffer)) : buffer;
  return {add(b, parameter, mul(b, scalars[0], direction)), buffer};
}

bool regather::tg::dividesZeros(const UpdateRule &rule) {
  // What is less than any normal number may be read as zero.
  return rule.kind == OptimizerKind::AdamW &&
         rule.epsilon < std::numeric_limits<float>::min();
}

linalg::GenericOp regather::tg::buildUpdate(B &b, const UpdateRule &rule,
                                            const UpdateOperands &operands) {
  auto tensorType = cast<RankedTensorType>(operands.parameter.getType());
  Type type = getUpdateType(tensorType.getElementType());
  size_t numStates = operands.states.size();

  // The new values may take the memory of the old ones.
  SmallVector<Value> outputs = {operands.parameter};
  llvm::append_range(outputs, operands.states);
  SmallVector<Value> inputs = outputs;
  inputs.push_back(operands.gradient);
  AffineMap whole = b.getMultiDimIdentityMap(tensorType.getRank());
  SmallVector<AffineMap> maps(inputs.size(), whole);
  if (operands.clipCoefficient)
    inputs.push_back(operands.clipCoefficient);
  llvm::append_range(inputs, operands.scalars);
  size_t numFloats = inputs.size();
  if (operands.isWanted)
    inputs.push_back(operands.isWanted);
  maps.resize(inputs.size(),
              AffineMap::get(tensorType.getRank(), 0, b.getContext()));
  maps.append(outputs.size(), whole);
  SmallVector<utils::IteratorType> loops(tensorType.getRank(),
                                         utils::IteratorType::parallel);
  return linalg::GenericOp::create(
      b, ValueRange(outputs).getTypes(), inputs, outputs, maps, loops,
      [&](OpBuilder &builder, Location loc, ValueRange elements) {
        B inner(loc, builder);
        SmallVector<Value> values;
        for (Value element : elements.take_front(numFloats))
          values.push_back(convertFloat(inner, element, type));
        auto rest = ArrayRef(values).drop_front(1 + numStates);
        Value gradient = rest.consume_front();
        if (operands.clipCoefficient)
          gradient = mul(inner, gradient, rest.consume_front());
        ValueRange states(ArrayRef(values).slice(1, numStates));
        SmallVector<Value> results =
            rule.kind == OptimizerKind::AdamW
                ? getAdamWElements(inner, rule, values[0], gradient, states,
                                   rest)
                : getSgdElements(inner, rule, values[0], gradient, states,
                                 rest);
        for (auto [number, result] : llvm::enumerate(results)) {
          result = convertFloat(
              inner, result, getElementTypeOrSelf(outputs[number].getType()));
          if (operands.isWanted)
            result = arith::SelectOp::create(inner, elements[numFloats], result,
                                             elements[number]);
          result = selectValid(inner, operands.validSizes, result);
        }
        linalg::YieldOp::create(inner, results);
      });
}
