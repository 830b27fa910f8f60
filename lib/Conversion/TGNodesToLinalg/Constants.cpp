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

void regather::nodes::addConstantRules(RuleTable &table) {
  table["aten.full.default"] = {"size fill_value", buildFull};
  table["aten.full_like.default"] = {"self fill_value", buildFull};
  table["aten.new_full.default"] = {"self size fill_value", buildFull};
  table["aten.fill.Scalar"] = {"self value", buildFill};
  table["aten.scalar_tensor.default"] = {"s", buildScalarTensor};
  table["aten.zeros.default"] = {"size", buildFixed<0>};
  table["aten.zeros_like.default"] = {"self", buildFixed<0>};
  table["aten.new_zeros.default"] = {"self size", buildFixed<0>};
  table["aten.ones.default"] = {"size", buildFixed<1>};
  table["aten.ones_like.default"] = {"self", buildFixed<1>};
  table["aten.new_ones.default"] = {"self size", buildFixed<1>};
  // Any value will do; zero is the same on every run.
  table["aten.empty.memory_format"] = {"size", buildFixed<0>};
  table["aten.empty_like.default"] = {"self", buildFixed<0>};
  table["aten.new_empty.default"] = {"self size", buildFixed<0>};
  table["aten.new_empty_strided.default"] = {"self size stride", buildFixed<0>};
  table["aten.empty_strided.default"] = {"size stride", buildFixed<0>};
  table["aten.empty_permuted.default"] = {"size physical_layout",
                                          buildFixed<0>};
  table["aten.arange.default"] = {"end", buildArange};
  table["aten.arange.start"] = {"start end", buildArange};
  table["aten.arange.start_step"] = {"start end step", buildArange};
}
