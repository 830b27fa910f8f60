//===- RankParts.cpp - The part of a tensor that a rank has ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankParts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace regather::tg;

Operation *regather::tg::createPartOffset(OpBuilder &builder, Location loc,
                                          FlatSymbolRefAttr mesh, AxesAttr axes,
                                          int64_t size) {
  Operation *index = AxisIndexOp::create(builder, loc, mesh, axes);
  Operation *length = arith::ConstantIndexOp::create(builder, loc, size);
  Operation *product = arith::MulIOp::create(builder, loc, index->getResult(0),
                                             length->getResult(0));
  auto forward = PhaseAttr::get(builder.getContext(), Phase::Forward);
  for (Operation *op : {index, length, product})
    op->setAttr(kPhaseAttrName, forward);
  return product;
}

Operation *regather::tg::createPadding(OpBuilder &builder, Location loc,
                                       Value whole, int64_t dim, int64_t size) {
  auto type = cast<RankedTensorType>(whole.getType());
  SmallVector<int64_t> shape(type.getShape());
  SmallVector<OpFoldResult> low(type.getRank(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> high(low);
  high[dim] = builder.getIndexAttr(size - shape[dim]);
  shape[dim] = size;
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(type.getElementType()));
  return tensor::PadOp::create(builder, loc, type.clone(shape), whole, low,
                               high, zero);
}
