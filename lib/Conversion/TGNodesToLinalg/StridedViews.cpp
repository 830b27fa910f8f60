//===- StridedViews.cpp - Expansions of views with strides ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// These views name elements by their place in memory. The tensor that is viewed
// is taken to lie in row-major order; captured graphs hold no others.
//
//===----------------------------------------------------------------------===//

#include "NodeBuilder.h"
#include "Scatter.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace regather::nodes;

namespace {
struct StridedView {
  SmallVector<int64_t> shape, strides;
  int64_t offset = 0;
};
} // namespace

static SmallVector<int64_t> getRowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * shape[d];
  return strides;
}

/// The place in row-major order of the element that the loops are at.
static Value getPlace(B &b, const StridedView &view) {
  Value place = makeIndex(b, view.offset);
  for (auto [d, stride] : llvm::enumerate(view.strides)) {
    Value step = arith::MulIOp::create(b, linalg::IndexOp::create(b, d),
                                       makeIndex(b, stride));
    place = arith::AddIOp::create(b, place, step);
  }
  return place;
}

static Tensor flatten(B &b, Tensor tensor) {
  return reshape(b, tensor, tensor.getType().getNumElements());
}

static Tensor readView(B &b, Tensor tensor, const StridedView &view) {
  Tensor flat = flatten(b, tensor);
  return pointwise(b, view.shape, flat.getType().getElementType(), {},
                   [&](B &b, ValueRange) -> Value {
                     return tensor::ExtractOp::create(b, flat,
                                                      getPlace(b, view));
                   });
}

/// `tensor` with the view's elements replaced.
static Tensor writeView(B &b, Tensor tensor, Tensor source,
                        const StridedView &view) {
  Tensor places = pointwise(
      b, view.shape, b.getI64Type(), {}, [&](B &b, ValueRange) -> Value {
        return arith::IndexCastOp::create(b, b.getI64Type(), getPlace(b, view));
      });
  return scatterInto(b, tensor, places, source, /*width=*/1,
                     /*accumulate=*/false);
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

static FailureOr<StridedView> getStrided(NodeArguments &args, Tensor self) {
  StridedView view;
  view.shape = args.getInts("size");
  view.strides = args.getInts("stride");
  view.offset = args.getInt("storage_offset", 0);
  if (args.hasFailed())
    return failure();
  if (view.shape.size() != view.strides.size())
    return args.fail("stride", "must have " + Twine(view.shape.size()) +
                                   " entries, got " +
                                   Twine(view.strides.size()));
  int64_t low = view.offset, high = view.offset;
  for (auto [size, stride] : llvm::zip_equal(view.shape, view.strides)) {
    if (size < 0)
      return args.fail("size", "must not be negative, got " + Twine(size));
    (stride < 0 ? low : high) += (size - 1) * stride;
  }
  int64_t count = self.getType().getNumElements();
  if (!llvm::is_contained(view.shape, 0) && (low < 0 || high >= count))
    return args.fail("reads places from " + Twine(low) + " to " + Twine(high) +
                     " of a tensor with " + Twine(count) + " elements");
  return view;
}

static FailureOr<StridedView> getDiagonal(NodeArguments &args, Tensor self) {
  int64_t rank = self.getType().getRank();
  int64_t first = args.getDim("dim1", rank, 0);
  int64_t second = args.getDim("dim2", rank, 1),
          shift = args.getInt("offset", 0);
  if (args.hasFailed())
    return failure();
  if (rank < 2 || first == second)
    return args.fail("dim2", "must be another dimension than \"dim1\"");
  StridedView view;
  view.shape.assign(self.getType().getShape().begin(),
                    self.getType().getShape().end());
  view.strides = getRowMajorStrides(view.shape);
  // The place of the first element, which is right of the main diagonal or
  // below it.
  int64_t column = std::max<int64_t>(shift, 0), row = column - shift;
  int64_t size = std::min(view.shape[first] - row, view.shape[second] - column);
  int64_t stride = view.strides[first] + view.strides[second];
  if (size > 0)
    view.offset = row * view.strides[first] + column * view.strides[second];
  for (int64_t dim : {std::max(first, second), std::min(first, second)}) {
    view.shape.erase(view.shape.begin() + dim);
    view.strides.erase(view.strides.begin() + dim);
  }
  view.shape.push_back(std::max<int64_t>(size, 0));
  view.strides.push_back(stride);
  return view;
}

/// Windows of "size" elements along a dimension, "step" apart.
static FailureOr<StridedView> getUnfolded(NodeArguments &args, Tensor self) {
  int64_t rank = self.getType().getRank();
  int64_t dim = args.getDim("dimension", rank);
  int64_t size = args.getInt("size"), step = args.getInt("step");
  if (args.hasFailed())
    return failure();
  if (rank == 0)
    return args.fail("self", "must have dimensions");
  int64_t extent = self.getType().getDimSize(dim);
  if (step < 1 || size < 0 || size > extent)
    return args.fail("expects windows of at most " + Twine(extent) +
                     " elements, a positive step apart, got size " +
                     Twine(size) + " and step " + Twine(step));
  StridedView view;
  view.shape.assign(self.getType().getShape().begin(),
                    self.getType().getShape().end());
  view.strides = getRowMajorStrides(view.shape);
  view.shape.push_back(size);
  view.strides.push_back(view.strides[dim]);
  view.shape[dim] = (extent - size) / step + 1;
  view.strides[dim] *= step;
  return view;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

using GetViewFn = FailureOr<StridedView> (*)(NodeArguments &, Tensor);

template <GetViewFn GetView>
static LogicalResult buildRead(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  if (args.hasFailed())
    return failure();
  FailureOr<StridedView> view = GetView(args, self);
  if (failed(view))
    return failure();
  return b.finish(readView(b, self, *view));
}

template <GetViewFn GetView>
static LogicalResult buildWrite(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self"), source = args.getTensor("src");
  if (args.hasFailed())
    return failure();
  FailureOr<StridedView> view = GetView(args, self);
  if (failed(view) || failed(args.expectShape("src", source, view->shape)))
    return failure();
  return b.finish(writeView(b, self, source, *view));
}

void regather::nodes::addStridedViewBuilders(BuilderTable &table) {
  table.add(Operator::AtenAsStrided, buildRead<getStrided>);
  table.add(Operator::AtenAsStridedScatter, buildWrite<getStrided>);
  table.add(Operator::AtenDiagonal, buildRead<getDiagonal>);
  table.add(Operator::AtenDiagonalScatter, buildWrite<getDiagonal>);
  table.add(Operator::AtenUnfold, buildRead<getUnfolded>);
}
