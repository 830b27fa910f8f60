//===- ElementOperands.cpp - Tensors or numbers as operands ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementOperands.h"

using namespace mlir;
using namespace regather::nodes;

ElementOperands regather::nodes::getOperands(NodeArguments &args,
                                             ArrayRef<StringRef> names) {
  ElementOperands operands;
  for (StringRef name : names) {
    if (args.isTensor(name))
      operands.push_back({args.getTensor(name), {}});
    else
      operands.push_back({nullptr, args.getNumber(name)});
  }
  return operands;
}

/// Booleans, then integers, then floats.
static unsigned getCategory(Type type) {
  return isa<FloatType>(type) ? 3 : type.isInteger(1) ? 1 : 2;
}

/// The wider of two element types.
static Type getWider(Type lhs, Type rhs) {
  if (!lhs || lhs == rhs)
    return rhs;
  if (getCategory(lhs) != getCategory(rhs))
    return getCategory(lhs) < getCategory(rhs) ? rhs : lhs;
  unsigned left = lhs.getIntOrFloatBitWidth();
  unsigned right = rhs.getIntOrFloatBitWidth();
  if (left == right)
    return Float32Type::get(lhs.getContext()); // f16 and bf16
  return left < right ? rhs : lhs;
}

Type regather::nodes::getPromotedType(ArrayRef<ElementOperand> operands) {
  Type byRank[3];
  for (const ElementOperand &operand : operands) {
    if (operand.tensor) {
      RankedTensorType type = operand.tensor.getType();
      Type &slot = byRank[type.getRank() > 0 ? 0 : 1];
      slot = getWider(slot, type.getElementType());
      continue;
    }
    Type type = operand.number.getType();
    if (isa<FloatType>(type))
      type = Float32Type::get(type.getContext());
    byRank[2] = getWider(byRank[2], type);
  }
  Type result;
  for (Type type : byRank)
    if (type && (!result || getCategory(type) > getCategory(result)))
      result = type;
  return result;
}

LogicalResult
regather::nodes::finishPointwise(NodeArguments &args, NodeBuilder &b,
                                 ArrayRef<ElementOperand> operands,
                                 Type compute, ElementFn fn) {
  SmallVector<Tensor> tensors;
  for (const ElementOperand &operand : operands)
    if (operand.tensor)
      tensors.push_back(operand.tensor);
  if (failed(args.expectBroadcast(tensors, b.getShape())))
    return failure();
  auto body = [&](B &inner, ValueRange elements) {
    SmallVector<Value, 3> values;
    size_t next = 0;
    for (const ElementOperand &operand : operands)
      values.push_back(operand.tensor
                           ? convertElement(inner, elements[next++], compute)
                           : makeConstant(inner, compute, operand.number));
    return fn(inner, values);
  };
  return b.finish(pointwise(b, b.getShape(), b.getElement(), tensors, body));
}
