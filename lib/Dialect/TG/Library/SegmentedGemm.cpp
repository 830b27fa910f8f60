//===- SegmentedGemm.cpp - GEMMs of segments that are summed up -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SegmentedGemm.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::library;

static constexpr llvm::StringLiteral kNoSegments =
    "its GEMMs are not of consecutive equal slices of two operands";

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Takes over what is done to the sums of one segment: a rounding.
StringRef SegmentedGemm::convert(GemmSegment &segment,
                                 const EpilogueReading &conversions) const {
  if (!conversions.reason.empty())
    return conversions.reason;
  for (const EpilogueTransform &transform : conversions.transforms) {
    if (transform.kind != EpilogueTransform::Kind::Convert)
      return "more is done to a segment than rounding it";
    if (transform.type.isF32())
      continue;
    if (!transform.type.isBF16() && !transform.type.isF16())
      return "the library does not convert to this type";
    if (segment.rounded && segment.rounded != transform.type)
      return "it would round less often";
    segment.rounded = transform.type;
  }
  return "";
}

void SegmentedGemm::setSum(Value value, Numbers numbers) {
  if (static_cast<int64_t>(numbers.size()) == numSegments &&
      getElementTypeOrSelf(value).isF32())
    whole = value;
  sums[value] = std::move(numbers);
}

StringRef SegmentedGemm::addSegment(Operation *op, GemmSegment segment) {
  if (StringRef reason = convert(segment, segment.reading.rest);
      !reason.empty())
    return reason;
  auto number = static_cast<unsigned>(segments.size());
  segments.push_back(std::move(segment));
  setSum(op->getResult(0), {number});
  return "";
}

bool SegmentedGemm::isReadBy(Operation *op) const {
  return llvm::any_of(op->getOperands(),
                      [&](Value value) { return sums.contains(value); });
}

StringRef SegmentedGemm::addSum(Operation *op) {
  SmallVector<Value, 2> read;
  for (Value operand : op->getOperands())
    if (sums.contains(operand) && !llvm::is_contained(read, operand))
      read.push_back(operand);
  if (op->getNumResults() != 1 || read.size() > 2)
    return kNoRoutine;
  if (read.size() == 2)
    return merge(op, read[0], read[1]);
  Numbers numbers = sums.lookup(read.front());
  if (numbers.size() != 1)
    return "more is done to a partial sum than adding its sibling";
  if (StringRef reason =
          convert(segments[numbers.front()], readEpilogue(op, read.front()));
      !reason.empty())
    return reason;
  setSum(op->getResult(0), std::move(numbers));
  return "";
}

/// True if `reading` adds `addend`, in f32 and element by element, and does
/// nothing else.
static bool isPlainAddition(const EpilogueReading &reading, Value addend) {
  if (!reading.reason.empty())
    return false;
  StridedView dense = StridedView::dense(addend);
  int64_t numAdditions = 0;
  for (const EpilogueTransform &transform : reading.transforms) {
    if (transform.kind == EpilogueTransform::Kind::Convert &&
        transform.type.isF32())
      continue;
    if (transform.kind != EpilogueTransform::Kind::Add ||
        transform.addend != addend)
      return false;
    std::optional<StridedView> aligned = dense.apply(transform.alignment);
    if (!aligned || aligned->shape != dense.shape ||
        aligned->strides != dense.strides)
      return false;
    ++numAdditions;
  }
  return numAdditions == 1;
}

StringRef SegmentedGemm::merge(Operation *op, Value first, Value second) {
  if (first.getType() != second.getType() ||
      first.getType() != op->getResult(0).getType() ||
      !getElementTypeOrSelf(first).isF32() ||
      !isPlainAddition(readEpilogue(op, first), second))
    return "more is done to partial sums than adding them in f32";
  // Which is the lower half is where it lies in the operands.
  Numbers low = sums.lookup(first), high = sums.lookup(second);
  auto getPlace = [&](const Numbers &numbers) {
    const GemmSegment &segment = segments[numbers.front()];
    return std::pair(segment.lhs.offset, segment.rhs.offset);
  };
  if (getPlace(high) < getPlace(low))
    std::swap(low, high);
  if (low.size() != (low.size() + high.size()) / 2)
    return "its segments are not added as a balanced tree";
  low.append(high.begin(), high.end());
  setSum(op->getResult(0), std::move(low));
  return "";
}

//===----------------------------------------------------------------------===//
// The GEMM of all segments
//===----------------------------------------------------------------------===//

/// The only loop that sums; nothing if there are several.
static std::optional<size_t> findSum(const GemmReading &reading) {
  std::optional<size_t> sum;
  for (auto [i, loop] : llvm::enumerate(reading.loops)) {
    if (loop.result)
      continue;
    if (sum || !loop.lhs || !loop.rhs)
      return std::nullopt;
    sum = i;
  }
  return sum;
}

/// True for loops of equal sizes over equal dimensions.
static bool areEqual(ArrayRef<GemmLoop> a, ArrayRef<GemmLoop> b) {
  return llvm::equal(a, b, [](const GemmLoop &x, const GemmLoop &y) {
    return x.size == y.size && x.lhs == y.lhs && x.rhs == y.rhs &&
           x.result == y.result;
  });
}

/// True if `view` is `first` but for its offset.
static bool isShifted(const StridedView &view, const StridedView &first) {
  if (view.base != first.base || view.shape != first.shape)
    return false;
  for (auto [size, x, y] :
       llvm::zip_equal(view.shape, view.strides, first.strides))
    if (size != 1 && x != y)
      return false;
  return true;
}

/// Extends dimension `dim` of `view`, that of the first of `count` segments of
/// which the second begins at `next`. False if it does not continue the first.
static bool extend(StridedView &view, unsigned dim, int64_t next,
                   int64_t count) {
  int64_t length = view.shape[dim], distance = next - view.offset;
  // A dimension of one element has any stride.
  int64_t stride = length == 1 ? distance : view.strides[dim];
  if (length == 0 || stride < 0 || distance != length * stride)
    return false;
  view.strides[dim] = stride;
  view.shape[dim] = length * count;
  return true;
}

StringRef SegmentedGemm::join(GemmSegment &joined) const {
  const Numbers &order = sums.find(whole)->second;
  if (numSegments < 2 || numSegments > GemmAttr::kMaxSegments)
    return "there are too many segments";
  const GemmSegment &first = segments[order[0]], &second = segments[order[1]];
  std::optional<size_t> sum = findSum(first.reading);
  if (!sum)
    return "the library sums over one dimension";
  joined = first;
  GemmLoop &loop = joined.reading.loops[*sum];
  if (!extend(joined.lhs, *loop.lhs, second.lhs.offset, numSegments) ||
      !extend(joined.rhs, *loop.rhs, second.rhs.offset, numSegments))
    return kNoSegments;
  int64_t leftStep = loop.size * joined.lhs.strides[*loop.lhs];
  int64_t rightStep = loop.size * joined.rhs.strides[*loop.rhs];
  for (auto [i, number] : llvm::enumerate(order)) {
    const GemmSegment &segment = segments[number];
    auto place = static_cast<int64_t>(i);
    if (!isShifted(segment.lhs, first.lhs) ||
        !isShifted(segment.rhs, first.rhs) ||
        segment.lhs.offset != first.lhs.offset + place * leftStep ||
        segment.rhs.offset != first.rhs.offset + place * rightStep ||
        segment.rounded != first.rounded ||
        !areEqual(segment.reading.loops, first.reading.loops))
      return kNoSegments;
  }
  loop.size *= numSegments;
  joined.reading.rest = EpilogueReading();
  return "";
}
