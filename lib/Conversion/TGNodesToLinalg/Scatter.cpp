//===- Scatter.cpp - Writing at places that data decide -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scatter.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace regather::nodes;

/// A null `combine` keeps the new row.
static Tensor scatterRows(B &b, Tensor into, Tensor indices, Tensor values,
                          ElementFn combine) {
  int64_t numRows = values.getType().getDimSize(0);
  int64_t width = values.getType().getDimSize(1);
  Type element = into.getType().getElementType();
  SmallVector<OpFoldResult> sizes = {b.getIndexAttr(1), b.getIndexAttr(width)};
  SmallVector<OpFoldResult> strides(2, b.getIndexAttr(1));
  auto getOffsets = [&](Value row) {
    return SmallVector<OpFoldResult>{row, b.getIndexAttr(0)};
  };
  auto loop = scf::ForOp::create(
      b, makeIndex(b, 0), makeIndex(b, numRows), makeIndex(b, 1),
      ValueRange(into),
      [&](OpBuilder &builder, Location loc, Value i, ValueRange carried) {
        B b(loc, builder);
        Value target = tensor::ExtractOp::create(b, indices, i);
        target = arith::IndexCastOp::create(b, b.getIndexType(), target);
        Tensor row = tensor::ExtractSliceOp::create(b, values, getOffsets(i),
                                                    sizes, strides)
                         .getResult();
        if (combine) {
          Tensor old = tensor::ExtractSliceOp::create(
                           b, carried[0], getOffsets(target), sizes, strides)
                           .getResult();
          row = pointwise(b, {1, width}, element, {old, row}, combine);
        }
        Value result = tensor::InsertSliceOp::create(
            b, row, carried[0], getOffsets(target), sizes, strides);
        scf::YieldOp::create(b, result);
      });
  return cast<Tensor>(loop.getResult(0));
}

static Tensor scatterFlat(B &b, Tensor self, Tensor rows, Tensor values,
                          int64_t width, ElementFn combine) {
  RankedTensorType type = self.getType();
  Type element = type.getElementType();
  Type compute = combine ? getComputeType(element) : element;
  int64_t numRows = rows.getType().getNumElements();
  int64_t extent = width == 0 ? 0 : type.getNumElements() / width;
  Tensor into = reshape(b, convertTensor(b, self, compute), {extent, width});
  values = reshape(b, convertTensor(b, values, compute), {numRows, width});
  Tensor result =
      scatterRows(b, into, reshape(b, rows, {numRows}), values, combine);
  return convertTensor(b, reshape(b, result, type.getShape()), element);
}

Tensor regather::nodes::scatterInto(B &b, Tensor self, Tensor rows,
                                    Tensor values, int64_t width,
                                    bool accumulate) {
  if (!accumulate)
    return scatterFlat(b, self, rows, values, width, nullptr);
  return combineInto(b, self, rows, values, width,
                     [](B &b, ValueRange v) { return add(b, v[0], v[1]); });
}

Tensor regather::nodes::combineInto(B &b, Tensor self, Tensor rows,
                                    Tensor values, int64_t width,
                                    ElementFn combine) {
  return scatterFlat(b, self, rows, values, width, combine);
}
