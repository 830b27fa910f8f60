//===- ScatterLoop.cpp - Loops that write at places of data ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/Transforms/ScatterLoop.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace regather;
using kernel::Scatter;

/// True if the slice is row `row` of a tensor.
static bool isRow(OffsetSizeAndStrideOpInterface slice, Value row) {
  SmallVector<OpFoldResult> offsets = slice.getMixedOffsets();
  return offsets.size() == 2 &&
         llvm::all_of(slice.getStaticStrides(),
                      [](int64_t stride) { return stride == 1; }) &&
         slice.getStaticSizes()[0] == 1 && dyn_cast<Value>(offsets[0]) == row &&
         isConstantIntValue(offsets[1], 0);
}

/// The tensor of which `value` is row `row`; null if it is none.
static Value getRowSource(Value value, Value row) {
  auto slice = value.getDefiningOp<tensor::ExtractSliceOp>();
  return slice && isRow(slice, row) ? slice.getSource() : Value();
}

static bool isCombination(linalg::GenericOp op) {
  return op.getNumDpsInputs() == 2 && op.getNumResults() == 1 &&
         op.getNumParallelLoops() == op.getNumLoops() &&
         !op.hasIndexSemantics() &&
         op.getMatchingBlockArgument(op.getDpsInitOperand(0)).use_empty() &&
         llvm::all_of(op.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isIdentity(); });
}

std::optional<Scatter> kernel::matchScatter(scf::ForOp loop) {
  if (loop.getNumResults() != 1 ||
      !matchPattern(loop.getLowerBound(), m_Zero()) ||
      !matchPattern(loop.getStep(), m_One()))
    return std::nullopt;
  auto type = dyn_cast<RankedTensorType>(loop.getResult(0).getType());
  auto insert = loop.getBody()
                    ->getTerminator()
                    ->getOperand(0)
                    .getDefiningOp<tensor::InsertSliceOp>();
  Value carried = loop.getRegionIterArg(0), step = loop.getInductionVar();
  if (!type || type.getRank() != 2 || !insert || insert.getDest() != carried)
    return std::nullopt;
  auto row = dyn_cast<Value>(insert.getMixedOffsets()[0]);
  auto cast = row ? row.getDefiningOp<arith::IndexCastOp>() : nullptr;
  auto index = cast ? cast.getIn().getDefiningOp<tensor::ExtractOp>() : nullptr;
  if (!index || !isRow(insert, row) ||
      ValueRange(index.getIndices()) != ValueRange(step))
    return std::nullopt;
  Scatter found;
  found.loop = loop;
  found.type = type;
  found.indices = index.getTensor();
  found.combine = insert.getSource().getDefiningOp<linalg::GenericOp>();
  Value source = insert.getSource();
  if (found.combine) {
    if (!isCombination(found.combine) ||
        getRowSource(found.combine.getOperand(0), row) != carried)
      return std::nullopt;
    source = found.combine.getOperand(1);
  }
  found.values = getRowSource(source, step);
  if (!found.values || !loop.isDefinedOutsideOfLoop(found.indices) ||
      !loop.isDefinedOutsideOfLoop(found.values))
    return std::nullopt;
  std::optional<int64_t> count = getConstantIntValue(loop.getUpperBound());
  if (!count || *count != found.getCount())
    return std::nullopt;
  return found;
}

Value kernel::combineElement(ImplicitLocOpBuilder &b, const Scatter &scatter,
                             Value previous, Value value) {
  if (!scatter.combine)
    return value;
  IRMapping map;
  linalg::GenericOp combine = scatter.combine;
  Block &body = *combine.getBlock();
  map.map(body.getArgument(0), previous);
  map.map(body.getArgument(1), value);
  for (Operation &op : body.without_terminator())
    b.clone(op, map);
  return map.lookupOrDefault(body.getTerminator()->getOperand(0));
}
