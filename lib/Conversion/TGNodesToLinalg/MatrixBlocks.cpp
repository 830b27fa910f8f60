//===- MatrixBlocks.cpp - Parts of batches of matrices --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatrixBlocks.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace regather::nodes;

Tensor regather::nodes::readBlock(B &b, Tensor matrices, OpFoldResult row,
                                  int64_t rows, OpFoldResult column,
                                  int64_t columns) {
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  int64_t count = matrices.getType().getDimSize(0);
  // A slice of a dimension of size 0 is out of bounds.
  if (count == 0 || rows == 0 || columns == 0)
    return fill(b, {count, rows, columns},
                makeNumber(matrices.getType().getElementType(), 0.0));
  SmallVector<OpFoldResult> sizes = {
      b.getIndexAttr(count), b.getIndexAttr(rows), b.getIndexAttr(columns)};
  return tensor::ExtractSliceOp::create(b, matrices, {zero, row, column}, sizes,
                                        SmallVector<OpFoldResult>(3, one))
      .getResult();
}

Value regather::nodes::writeBlock(B &b, Tensor block, Value into,
                                  OpFoldResult row, OpFoldResult column) {
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  SmallVector<OpFoldResult> sizes;
  for (int64_t size : block.getType().getShape())
    sizes.push_back(b.getIndexAttr(size));
  return tensor::InsertSliceOp::create(b, block, into, {zero, row, column},
                                       sizes,
                                       SmallVector<OpFoldResult>(3, one));
}

Tensor regather::nodes::swapLastDims(B &b, Tensor tensor) {
  auto order =
      llvm::to_vector(llvm::seq<int64_t>(0, tensor.getType().getRank()));
  std::swap(order[order.size() - 2], order.back());
  return transpose(b, tensor, order);
}

Tensor regather::nodes::flattenBatch(B &b, Tensor tensor,
                                     ArrayRef<int64_t> batch) {
  ArrayRef<int64_t> own = tensor.getType().getShape().take_back(2);
  SmallVector<int64_t> shape(batch);
  llvm::append_range(shape, own);
  return reshape(b, broadcast(b, tensor, shape),
                 {ShapedType::getNumElements(batch), own[0], own[1]});
}

SmallVector<Tensor> regather::nodes::repeat(
    B &b, int64_t count, ArrayRef<Tensor> first,
    function_ref<SmallVector<Value>(B &, Value, ArrayRef<Tensor>)> step) {
  // Blocks of nothing would lie out of bounds.
  if (count == 0)
    return llvm::to_vector(first);
  auto toTensors = [](ValueRange values) {
    return llvm::map_to_vector(values,
                               [](Value value) { return cast<Tensor>(value); });
  };
  SmallVector<Value> values(first.begin(), first.end());
  auto loop = scf::ForOp::create(
      b, makeIndex(b, 0), makeIndex(b, count), makeIndex(b, 1), values,
      [&](OpBuilder &builder, Location loc, Value i, ValueRange carried) {
        B b(loc, builder);
        scf::YieldOp::create(b, step(b, i, toTensors(carried)));
      });
  return toTensors(loop.getResults());
}

FailureOr<Tensor> regather::nodes::readMatrices(NodeArguments &args,
                                                StringRef name,
                                                bool areSquare) {
  Tensor tensor = args.getTensor(name);
  if (args.hasFailed())
    return failure();
  RankedTensorType type = tensor.getType();
  Type element = type.getElementType();
  if (!element.isF32() && !element.isF64())
    return args.fail(name, "must hold f32 or f64");
  if (type.getRank() < 2 ||
      (areSquare &&
       type.getShape().back() != type.getDimSize(type.getRank() - 2)))
    return args.fail(name, areSquare ? "must hold square matrices"
                                     : "must hold matrices");
  return tensor;
}
