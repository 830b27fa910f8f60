//===- StridedView.cpp - Tensors as strides over a buffer -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StridedView.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace regather::tg::library;

ViewTransform ViewTransform::permute(ArrayRef<int64_t> permutation) {
  return {Kind::Permute, SmallVector<int64_t, 6>(permutation)};
}

ViewTransform ViewTransform::reshape(ArrayRef<int64_t> shape) {
  return {Kind::Reshape, SmallVector<int64_t, 6>(shape)};
}

ViewTransform ViewTransform::broadcast(ArrayRef<int64_t> shape) {
  return {Kind::Broadcast, SmallVector<int64_t, 6>(shape)};
}

ViewTransform ViewTransform::slice(int64_t dim, int64_t start, int64_t size,
                                   int64_t step) {
  return {Kind::Slice, {}, dim, start, size, step};
}

StridedView StridedView::dense(Value value) {
  StridedView view;
  view.base = value;
  llvm::append_range(view.shape,
                     cast<RankedTensorType>(value.getType()).getShape());
  view.strides.resize(view.shape.size());
  int64_t step = 1;
  for (size_t d = view.shape.size(); d-- > 0;) {
    view.strides[d] = step;
    step *= view.shape[d];
  }
  return view;
}

/// The strides of a view with another shape; nothing if a dimension of it would
/// run over several that do not follow each other in memory.
static std::optional<SmallVector<int64_t, 6>>
reshapeStrides(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides,
               ArrayRef<int64_t> newShape) {
  SmallVector<int64_t, 6> newStrides(newShape.size(), 0);
  if (llvm::is_contained(shape, 0) || llvm::is_contained(newShape, 0))
    return newStrides;
  // Dimensions that follow each other, the innermost first.
  SmallVector<std::pair<int64_t, int64_t>> runs;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 1)
      continue;
    if (!runs.empty() && strides[d] == runs.back().first * runs.back().second)
      runs.back().first *= shape[d];
    else
      runs.push_back({shape[d], strides[d]});
  }
  auto run = runs.begin();
  for (size_t d = newShape.size(); d-- > 0;) {
    if (newShape[d] == 1)
      continue;
    if (run == runs.end() || run->first % newShape[d] != 0)
      return std::nullopt;
    newStrides[d] = run->second;
    run->first /= newShape[d];
    run->second *= newShape[d];
    if (run->first == 1)
      ++run;
  }
  if (run != runs.end())
    return std::nullopt;
  return newStrides;
}

std::optional<StridedView>
StridedView::apply(const ViewTransform &transform) const {
  StridedView result;
  result.base = base;
  result.offset = offset;
  switch (transform.kind) {
  case ViewTransform::Kind::Permute:
    for (int64_t d : transform.numbers) {
      result.shape.push_back(shape[d]);
      result.strides.push_back(strides[d]);
    }
    return result;
  case ViewTransform::Kind::Reshape: {
    auto reshaped = reshapeStrides(shape, strides, transform.numbers);
    if (!reshaped)
      return std::nullopt;
    result.shape = transform.numbers;
    result.strides = std::move(*reshaped);
    return result;
  }
  case ViewTransform::Kind::Broadcast: {
    if (transform.numbers.size() < shape.size())
      return std::nullopt;
    result.shape = transform.numbers;
    size_t missing = transform.numbers.size() - shape.size();
    result.strides.assign(missing, 0);
    for (size_t d = 0; d < shape.size(); ++d) {
      bool isSame = shape[d] == transform.numbers[missing + d];
      if (!isSame && shape[d] != 1)
        return std::nullopt;
      result.strides.push_back(isSame ? strides[d] : 0);
    }
    return result;
  }
  case ViewTransform::Kind::Slice:
    if (transform.start < 0 || transform.step < 1 || transform.size < 0 ||
        (transform.size > 0 &&
         transform.start + (transform.size - 1) * transform.step >=
             shape[transform.dim]))
      return std::nullopt;
    result = *this;
    result.offset += transform.start * strides[transform.dim];
    result.shape[transform.dim] = transform.size;
    result.strides[transform.dim] *= transform.step;
    return result;
  }
  llvm_unreachable("unknown view");
}

std::optional<StridedView>
StridedView::apply(ArrayRef<ViewTransform> transforms) const {
  std::optional<StridedView> view = *this;
  for (const ViewTransform &transform : transforms)
    if (view)
      view = view->apply(transform);
  return view;
}

std::optional<StridedView>
StridedView::revert(ArrayRef<ViewTransform> transforms,
                    ArrayRef<int64_t> shape) const {
  // Shapes before each transform: those of a view over nothing.
  StridedView before;
  llvm::append_range(before.shape, shape);
  before.strides.assign(shape.size(), 0);
  SmallVector<SmallVector<int64_t, 6>> shapes;
  for (const ViewTransform &transform : transforms) {
    shapes.push_back(before.shape);
    std::optional<StridedView> after = before.apply(transform);
    if (!after)
      return std::nullopt;
    before = std::move(*after);
  }
  std::optional<StridedView> view = *this;
  for (auto [transform, own] :
       llvm::zip(llvm::reverse(transforms), llvm::reverse(shapes)))
    if (view)
      view = view->revertOne(transform, own);
  return view;
}

std::optional<StridedView>
StridedView::revertOne(const ViewTransform &transform,
                       ArrayRef<int64_t> shape) const {
  switch (transform.kind) {
  case ViewTransform::Kind::Permute: {
    SmallVector<int64_t> inverse(transform.numbers.size());
    for (auto [d, from] : llvm::enumerate(transform.numbers))
      inverse[from] = static_cast<int64_t>(d);
    return apply(ViewTransform::permute(inverse));
  }
  case ViewTransform::Kind::Reshape:
    return apply(ViewTransform::reshape(shape));
  case ViewTransform::Kind::Broadcast:
  case ViewTransform::Kind::Slice:
    return std::nullopt;
  }
  llvm_unreachable("unknown view");
}
