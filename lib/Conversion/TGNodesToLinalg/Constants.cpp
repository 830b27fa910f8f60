//===- Constants.cpp - Expansions that make constant tensors --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeBuilder.h"
#include "StructuredOps.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace regather::nodes;

/// A tensor full of the argument called `name`; shape and type are the
/// result's.
static LogicalResult finishFilled(NodeArguments &args, NodeBuilder &b,
                                  StringRef name) {
  TypedAttr number = args.getNumber(name);
  if (args.hasFailed())
    return failure();
  return b.finish(fill(b, b.getShape(), makeNumber(b.getElement(), number)));
}

static LogicalResult buildFull(NodeArguments &args, NodeBuilder &b) {
  return finishFilled(args, b, "fill_value");
}

static LogicalResult buildFill(NodeArguments &args, NodeBuilder &b) {
  return finishFilled(args, b, "value");
}

static LogicalResult buildScalarTensor(NodeArguments &args, NodeBuilder &b) {
  return finishFilled(args, b, "s");
}

template <int Number>
static LogicalResult buildFixed(NodeArguments &args, NodeBuilder &b) {
  return b.finish(
      fill(b, b.getShape(), makeNumber(b.getElement(), int64_t(Number))));
}

/// start + i * step, in f64 for floats so that it is rounded once.
static LogicalResult buildArange(NodeArguments &args, NodeBuilder &b) {
  TypedAttr start = args.getNumber("start", 0);
  TypedAttr step = args.getNumber("step", 1);
  (void)args.getNumber("end");
  if (args.hasFailed())
    return failure();
  if (b.getShape().size() != 1)
    return args.fail("gives one dimension, but the node has " +
                     Twine(b.getShape().size()));
  Type element = b.getElement();
  Type compute =
      isa<FloatType>(element) ? Type(b.getF64Type()) : Type(b.getI64Type());
  return b.finish(
      pointwise(b, b.getShape(), element, {}, [&](B &b, ValueRange) {
        Value index = linalg::IndexOp::create(b, 0);
        Value number = arith::IndexCastOp::create(b, b.getI64Type(), index);
        number = convertElement(b, number, compute);
        return add(b, makeConstant(b, compute, start),
                   mul(b, number, makeConstant(b, compute, step)));
      }));
}

void regather::nodes::addConstantBuilders(BuilderTable &table) {
  table.add(Operator::AtenArange, buildArange);
  // Tensors that PyTorch leaves uninitialized hold zeros, so that runs are
  // equal.
  table.add({Operator::AtenEmpty, Operator::AtenEmptyLike,
             Operator::AtenEmptyPermuted, Operator::AtenEmptyStrided,
             Operator::AtenNewEmpty, Operator::AtenNewEmptyStrided,
             Operator::AtenNewZeros, Operator::AtenZeros,
             Operator::AtenZerosLike},
            buildFixed<0>);
  table.add(Target::AtenFillScalar, buildFill);
  table.add({Operator::AtenFull, Operator::AtenFullLike, Operator::AtenNewFull},
            buildFull);
  table.add({Operator::AtenNewOnes, Operator::AtenOnes, Operator::AtenOnesLike},
            buildFixed<1>);
  table.add(Operator::AtenScalarTensor, buildScalarTensor);
}
