//===- RowNodes.cpp - Nodes that move and count rows ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowNodes.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

static RankedTensorType getRowsType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

Value RowNodes::take(Value value, int64_t dim, Value numbers) {
  SmallVector<int64_t> shape(getRowsType(value).getShape());
  shape[dim] = getRowsType(numbers).getDimSize(0);
  return make(NodeTarget::AtenIndexSelectDefault,
              getRowsType(value).clone(shape), {value, numbers},
              {OperandAttr::get(builder.getContext(), 0),
               builder.getI64IntegerAttr(dim),
               OperandAttr::get(builder.getContext(), 1)});
}

Value RowNodes::slice(Value value, int64_t dim, int64_t first, int64_t count) {
  SmallVector<int64_t> shape(getRowsType(value).getShape());
  if (first == 0 && count == shape[dim])
    return value;
  shape[dim] = count;
  return make(NodeTarget::AtenSliceTensor, getRowsType(value).clone(shape),
              value,
              {OperandAttr::get(builder.getContext(), 0),
               builder.getI64IntegerAttr(dim), builder.getI64IntegerAttr(first),
               builder.getI64IntegerAttr(first + count)});
}

Value RowNodes::countFrom(int64_t first, int64_t step, int64_t count) {
  return make(NodeTarget::AtenArangeStartStep,
              RankedTensorType::get({count}, builder.getI64Type()), {},
              {builder.getI64IntegerAttr(first),
               builder.getI64IntegerAttr(first + step * count),
               builder.getI64IntegerAttr(step)});
}

Value RowNodes::concatenate(ValueRange parts, int64_t dim) {
  return communication.getTreeSums().concatenate(parts, dim);
}

Value RowNodes::swapOuter(Value value, ArrayRef<int64_t> shape) {
  auto order = llvm::to_vector(
      llvm::seq<int64_t>(0, static_cast<int64_t>(shape.size())));
  SmallVector<int64_t> swapped(shape);
  std::swap(order[0], order[1]);
  std::swap(swapped[0], swapped[1]);
  return make(NodeTarget::AtenPermuteDefault, getRowsType(value).clone(swapped),
              reshape(value, shape),
              {OperandAttr::get(builder.getContext(), 0),
               builder.getI64ArrayAttr(order)});
}

Value RowNodes::countBelow(Value keys, Value numbers) {
  return make(NodeTarget::AtenSearchsortedTensor, getRowsType(numbers),
              {keys, numbers});
}

Value RowNodes::shift(Value numbers, int64_t by) {
  Value number = makeNumber(static_cast<double>(by),
                            getRowsType(numbers).getElementType());
  return makeBinary(NodeTarget::AtenAddTensor, numbers, number);
}

Value RowNodes::multiply(Value numbers, int64_t by) {
  Value number = makeNumber(static_cast<double>(by),
                            getRowsType(numbers).getElementType());
  return makeBinary(NodeTarget::AtenMulTensor, numbers, number);
}

std::pair<Value, Value> RowNodes::sort(Value numbers) {
  RankedTensorType type = getRowsType(numbers);
  SmallVector<Value> sorted =
      makeAll(NodeTarget::AtenSortDefault,
              {type, type.clone(builder.getI64Type())}, numbers);
  return {sorted[0], sorted[1]};
}

Value RowNodes::place(Value values, Value places) {
  RankedTensorType type = getRowsType(values);
  return make(NodeTarget::AtenIndexPutDefault, type,
              {makeZeros(type), places, values},
              {OperandAttr::get(builder.getContext(), 0),
               builder.getArrayAttr(OperandAttr::get(builder.getContext(), 1)),
               OperandAttr::get(builder.getContext(), 2)});
}
