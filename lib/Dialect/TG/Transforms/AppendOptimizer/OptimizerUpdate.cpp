//===- OptimizerUpdate.cpp - Update one parameter -------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all optimizers have in common; the rest is in UpdateFormulas:
//
//   g = maximize ? -g : g
//   p = p * (1 - lr * weight_decay)       (decoupled decay)
//   g = g + weight_decay * p              (any other)
//
//===----------------------------------------------------------------------===//

#include "OptimizerUpdate.h"

#include "UpdateFormulas.h"

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace regather::tg;
using B = ImplicitLocOpBuilder;

Type regather::tg::getUpdateType(Type element) {
  if (element.isF64())
    return element;
  return Float32Type::get(element.getContext());
}

void regather::tg::markOptimizer(Operation *op, StringAttr module) {
  op->setAttr(kPhaseAttrName,
              PhaseAttr::get(op->getContext(), Phase::Optimizer));
  if (module)
    op->setAttr(kModuleAttrName, module);
}

//===----------------------------------------------------------------------===//
// Once a step
//===----------------------------------------------------------------------===//

/// True if what is left of a parameter is a scalar of its own, the last one.
static bool shrinksParameter(const UpdateRule &rule) {
  return rule.isDecoupled && rule.weightDecay != 0;
}

SmallVector<Value> regather::tg::buildStepScalars(B &b, const UpdateRule &rule,
                                                  Value learningRate,
                                                  Value step, Type type) {
  const UpdateFormula &formula = getFormula(rule.kind);
  SmallVector<Value> inputs = {learningRate};
  if (formula.needsStep(rule))
    inputs.push_back(step);
  unsigned numScalars =
      formula.getNumScalars(rule) + (shrinksParameter(rule) ? 1 : 0);
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
        update::FloatBuilder f(inner, f64);
        Value scaled = convertFloat(inner, elements[0], f64);
        if (rule.learningRateScale != 1)
          scaled = f.mul(scaled, f.constant(rule.learningRateScale));
        Value number;
        if (formula.needsStep(rule))
          number = arith::SIToFPOp::create(inner, f64, elements[1]);
        SmallVector<Value> scalars =
            formula.getScalars(inner, rule, scaled, number);
        if (shrinksParameter(rule)) {
          Value lost = f.mul(scaled, f.constant(rule.weightDecay));
          scalars.push_back(f.sub(f.constant(1), lost));
        }
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

linalg::GenericOp regather::tg::buildUpdate(B &b, const UpdateRule &rule,
                                            const UpdateOperands &operands) {
  auto tensorType = cast<RankedTensorType>(operands.parameter.getType());
  Type type = getUpdateType(tensorType.getElementType());
  const UpdateFormula &formula = getFormula(rule.kind);
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
        Value parameter = values[0], gradient = rest.consume_front();
        update::FloatBuilder f(inner, type);
        if (operands.clipCoefficient)
          gradient = f.mul(gradient, rest.consume_front());
        if (rule.maximize)
          gradient = f.neg(gradient);
        if (shrinksParameter(rule))
          parameter = f.mul(parameter, rest.back());
        else if (rule.weightDecay != 0)
          gradient =
              f.addScaled(gradient, f.constant(rule.weightDecay), parameter);
        ValueRange states(ArrayRef(values).slice(1, numStates));
        SmallVector<Value> results =
            formula.getElements(inner, rule, parameter, gradient, states, rest);
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
