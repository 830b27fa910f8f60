//===- PartNodes.cpp - Nodes that are carried out on parts ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartNodes.h"

#include "mlir/Dialect/Traits.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

Value PartNodes::make(NodeTarget target, RankedTensorType type,
                      ValueRange operands, ArrayRef<Attribute> args) {
  return makeAll(target, TypeRange(type), operands, args).front();
}

SmallVector<Value> PartNodes::makeAll(NodeTarget target, TypeRange types,
                                      ValueRange operands,
                                      ArrayRef<Attribute> args) {
  Communication::Place place = communication.getPlace();
  auto node = NodeOp::create(
      builder, place.loc, types, builder.getStringAttr(getName(target)),
      operands, args.empty() ? ArrayAttr() : builder.getArrayAttr(args),
      DictionaryAttr(), UnitAttr());
  node->setAttr(kPhaseAttrName, place.phase);
  if (place.module && !place.module.empty())
    node->setAttr(kModuleAttrName, place.module);
  return SmallVector<Value>(node->getResults());
}

Value PartNodes::makeUnary(NodeTarget target, Value operand) {
  return make(target, cast<RankedTensorType>(operand.getType()), operand);
}

/// The type of two tensors that are broadcast to each other.
static RankedTensorType getBroadcastType(Value a, Value b, Type element) {
  SmallVector<int64_t> shape;
  [[maybe_unused]] bool isPossible = OpTrait::util::getBroadcastedShape(
      cast<RankedTensorType>(a.getType()).getShape(),
      cast<RankedTensorType>(b.getType()).getShape(), shape);
  assert(isPossible && "shapes that cannot be broadcast");
  return RankedTensorType::get(shape, element);
}

Value PartNodes::makeBinary(NodeTarget target, Value a, Value b) {
  Type element = cast<RankedTensorType>(a.getType()).getElementType();
  return make(target, getBroadcastType(a, b, element), {a, b});
}

Value PartNodes::compare(NodeTarget target, Value a, int64_t number) {
  auto type = cast<RankedTensorType>(a.getType());
  return make(target, type.clone(builder.getI1Type()), a,
              {operand(0), builder.getI64IntegerAttr(number)});
}

Value PartNodes::compare(NodeTarget target, Value a, Value b) {
  return make(target, getBroadcastType(a, b, builder.getI1Type()), {a, b});
}

Value PartNodes::reduce(NodeTarget target, Value value, int64_t dim) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = 1;
  return make(target, type.clone(shape), value,
              {operand(0), builder.getArrayAttr(builder.getI64IntegerAttr(dim)),
               builder.getBoolAttr(true)});
}

Value PartNodes::select(Value mask, Value ifTrue, double otherwise) {
  Type element = cast<RankedTensorType>(ifTrue.getType()).getElementType();
  return make(NodeTarget::AtenWhereSelf,
              getBroadcastType(mask, ifTrue, element),
              {mask, ifTrue, makeNumber(otherwise, element)});
}

Value PartNodes::makeNumber(double number, Type element) {
  TypedAttr attr =
      element.isInteger()
          ? TypedAttr(builder.getI64IntegerAttr(static_cast<int64_t>(number)))
          : TypedAttr(builder.getF64FloatAttr(number));
  return make(NodeTarget::AtenScalarTensorDefault,
              RankedTensorType::get({}, element), {}, {attr});
}

Value PartNodes::makeZeros(RankedTensorType type) {
  return make(
      NodeTarget::AtenFullDefault, type, {},
      {builder.getI64ArrayAttr(type.getShape()), builder.getI64IntegerAttr(0)});
}

Value PartNodes::countBy(int64_t step, int64_t count) {
  return make(NodeTarget::AtenArangeStartStep,
              RankedTensorType::get({count}, builder.getI64Type()), {},
              {builder.getI64IntegerAttr(0),
               builder.getI64IntegerAttr(step * count),
               builder.getI64IntegerAttr(step)});
}

Value PartNodes::reshape(Value value, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == shape)
    return value;
  return make(NodeTarget::AtenViewDefault, type.clone(shape), value,
              {operand(0), builder.getI64ArrayAttr(shape)});
}
