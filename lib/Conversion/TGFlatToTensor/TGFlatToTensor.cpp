//===- TGFlatToTensor.cpp - Flat tensors as slices ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Conversion/Passes.h"
#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace regather {
#define GEN_PASS_DEF_CONVERTTGFLATTOTENSORPASS
#include "regather/Conversion/Passes.h.inc"
} // namespace regather

#define DEBUG_TYPE "convert-tg-flat-to-tensor"

using namespace mlir;
using namespace regather;
using B = ImplicitLocOpBuilder;

/// The elements [begin, end) of a flat tensor.
static Value extract(B &b, Value flat, int64_t begin, int64_t end) {
  OpFoldResult offset = b.getIndexAttr(begin);
  OpFoldResult size = b.getIndexAttr(end - begin);
  OpFoldResult stride = b.getIndexAttr(1);
  auto type = cast<RankedTensorType>(flat.getType()).clone({end - begin});
  return tensor::ExtractSliceOp::create(b, type, flat, offset, size, stride);
}

static Value insert(B &b, Value elements, Value flat, int64_t begin) {
  int64_t count = cast<RankedTensorType>(elements.getType()).getNumElements();
  OpFoldResult offset = b.getIndexAttr(begin);
  OpFoldResult size = b.getIndexAttr(count);
  OpFoldResult stride = b.getIndexAttr(1);
  return tensor::InsertSliceOp::create(b, elements, flat, offset, size, stride);
}

/// All dimensions of `type` as one group; none if it has no dimension.
static SmallVector<ReassociationIndices> getAllDims(RankedTensorType type) {
  if (type.getRank() == 0)
    return {};
  return {llvm::to_vector_of<int64_t>(llvm::seq(type.getRank()))};
}

/// `elements`, of one dimension, as a tensor of `type`.
static Value expand(B &b, Value elements, RankedTensorType type) {
  if (elements.getType() == type)
    return elements;
  if (type.getRank() == 0)
    return tensor::CollapseShapeOp::create(b, type, elements, getAllDims(type));
  return tensor::ExpandShapeOp::create(b, type, elements, getAllDims(type));
}

/// `value` as a tensor of one dimension.
static Value collapse(B &b, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() == 1)
    return value;
  RankedTensorType flat = type.clone({type.getNumElements()});
  if (type.getRank() == 0)
    return tensor::ExpandShapeOp::create(b, flat, value, getAllDims(type));
  return tensor::CollapseShapeOp::create(b, flat, value, getAllDims(type));
}

static SmallVector<Value> build(B &b, tg::UnflattenOp op) {
  SmallVector<Value> members;
  for (auto [result, offset] :
       llvm::zip_equal(op.getTensors(), op.getOffsets())) {
    auto type = cast<RankedTensorType>(result.getType());
    Value elements =
        extract(b, op.getFlat(), offset, offset + type.getNumElements());
    members.push_back(expand(b, elements, type));
  }
  return members;
}

static SmallVector<Value> build(B &b, tg::FlattenOp op) {
  RankedTensorType type = op.getFlat().getType();
  Value flat =
      tensor::EmptyOp::create(b, type.getShape(), type.getElementType());
  Value zero;
  for (auto [begin, end] : op.getGaps()) {
    if (!zero)
      zero = arith::ConstantOp::create(b, b.getZeroAttr(type.getElementType()));
    Value gap = extract(b, flat, begin, end);
    Value zeros = linalg::FillOp::create(b, zero, gap).getResult(0);
    flat = insert(b, zeros, flat, begin);
  }
  for (auto [tensor, offset] :
       llvm::zip_equal(op.getTensors(), op.getOffsets()))
    flat = insert(b, collapse(b, tensor), flat, offset);
  return {flat};
}

/// Replaces `op` by what `build` makes, which carries its attributes.
template <typename OpTy> static void convert(OpTy op) {
  B b(op.getLoc(), op);
  Operation *previous = op->getPrevNode();
  SmallVector<Value> values = build(b, op);
  for (Operation *made = op->getPrevNode(); made != previous;
       made = made->getPrevNode())
    for (NamedAttribute named : op->getDiscardableAttrs())
      if (named.getName() != tg::kSavedResultsAttrName)
        made->setDiscardableAttr(named.getName(), named.getValue());
  op->replaceAllUsesWith(values);
  op.erase();
}

namespace {
struct ConvertTGFlatToTensorPass
    : regather::impl::ConvertTGFlatToTensorPassBase<ConvertTGFlatToTensorPass> {
  using ConvertTGFlatToTensorPassBase::ConvertTGFlatToTensorPassBase;

  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      if (auto unflatten = dyn_cast<tg::UnflattenOp>(op))
        convert(unflatten);
      else if (auto flatten = dyn_cast<tg::FlattenOp>(op))
        convert(flatten);
      else
        return;
      ++numConverted;
    });
  }
};
} // namespace
