//===- GroupedGemmMatcher.cpp - Kernels that are grouped GEMMs ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibraryReadings.h"
#include "RoutineMatcher.h"

#include "regather/Dialect/TG/Library/LibraryCalls.h"
#include "regather/Dialect/TG/Nodes/GroupedGemmArguments.h"

using namespace mlir;
using namespace regather::nodes;
using namespace regather::tg;
using namespace regather::tg::library;

/// Multiply-adds of the smallest grouped GEMM that is not left to generated
/// code.
static constexpr double kSmallestGroupedGemm = 32 * 32 * 32 + 1;

namespace {
class GroupedGemmMatcher : public RoutineMatcher {
public:
  explicit GroupedGemmMatcher(double smallest) : smallest(smallest) {}

  LibraryMatch<GroupedGemmAttr> match(ArrayRef<Operation *> ops,
                                      ValueRange inputs, ValueRange outputs);

private:
  bool isRoutine(Operation *op) const override {
    return findGroupedGemmTarget(op).has_value();
  }
  bool readNode(NodeOp op) override;
  bool addInput(BufferViewAttr &operand, const GroupedOperand &given);
  bool addOutput(unsigned number, Value output) override;
  GroupedGemmAttr getCall() const;

  double smallest;
  GroupedGemm sizes;
  BufferViewAttr x, w, y, ends, toX, toW, toY;
};
} // namespace

/// `view` with the last two dimensions the other way round if `isTransposed`.
static std::optional<StridedView> orient(const StridedView &view, size_t rank,
                                         bool isTransposed) {
  if (!isTransposed)
    return view;
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(order[rank - 2], order.back());
  return view.apply(ViewTransform::permute(order));
}

bool GroupedGemmMatcher::addInput(BufferViewAttr &operand,
                                  const GroupedOperand &given) {
  if (!given.tensor)
    return true;
  const StridedView *found = findInput(given.tensor);
  if (!found || !checkElement(given.tensor))
    return false;
  auto rank = static_cast<size_t>(given.tensor.getType().getRank());
  std::optional<StridedView> view = orient(*found, rank, given.isTransposed);
  if (!view)
    return fail(kStrides);
  operand = views.describeInput(*view);
  return true;
}

bool GroupedGemmMatcher::readNode(NodeOp op) {
  NodeArguments args(op, *findNodeTarget(op.getTarget()), /*isQuiet=*/true);
  FailureOr<GroupedGemm> read = readGroupedGemm(args);
  if (failed(read))
    return fail(kNoRoutine);
  sizes = *read;
  if (static_cast<double>(sizes.rows) * static_cast<double>(sizes.inner) *
          static_cast<double>(sizes.outer) <
      smallest)
    return fail("loops are as fast for so few elements");
  views.setNode(op);
  if (!addInput(x, sizes.x) || !addInput(w, sizes.w) || !addInput(y, sizes.y))
    return false;
  const StridedView *found = findInput(sizes.ends);
  if (!found)
    return false;
  Type element = sizes.ends.getType().getElementType();
  if (!element.isInteger(32) && !element.isInteger(64))
    return fail("the library knows ends of i32 and i64 alone");
  ends = views.describeInput(*found);
  return true;
}

bool GroupedGemmMatcher::addOutput(unsigned number, Value output) {
  std::optional<unsigned> result = views.getResult(output);
  if (!result)
    return fail("another value is the result");
  if (!checkElement(output))
    return false;
  std::tuple<BufferViewAttr *, std::optional<GroupedResult>, size_t> own[] = {
      {&toX, sizes.toX, 2}, {&toW, sizes.toW, 3}, {&toY, sizes.toY, 2}};
  for (auto [target, given, rank] : own) {
    if (!given || given->number != *result)
      continue;
    std::optional<StridedView> view = views.getOutput(output);
    if (view)
      view = orient(*view, rank, given->isTransposed);
    if (!view)
      return fail(kStrides);
    if (*target)
      return fail("a result is given twice");
    *target = views.describeOutput(*view, number);
    return true;
  }
  return fail(kNoRoutine);
}

GroupedGemmAttr GroupedGemmMatcher::getCall() const {
  NodeOp node = views.getNode();
  return GroupedGemmAttr::get(node.getContext(), sizes.groups, sizes.rows,
                              sizes.inner, sizes.outer, sizes.fillsZeros, x, w,
                              y, ends, toX, toW, toY);
}

LibraryMatch<GroupedGemmAttr>
GroupedGemmMatcher::match(ArrayRef<Operation *> ops, ValueRange inputs,
                          ValueRange outputs) {
  if (!read(ops, inputs, outputs))
    return {nullptr, reason};
  return {getCall(), ""};
}

LibraryMatch<GroupedGemmAttr>
regather::tg::matchGroupedGemm(ArrayRef<Operation *> ops, ValueRange inputs,
                               ValueRange outputs, bool takesSmall) {
  return GroupedGemmMatcher(takesSmall ? 0 : kSmallestGroupedGemm)
      .match(ops, inputs, outputs);
}

LibraryMatch<GroupedGemmAttr> regather::tg::matchGroupedGemm(KernelOp kernel) {
  KernelContents contents(kernel);
  return GroupedGemmMatcher(/*smallest=*/0)
      .match(contents.ops, contents.inputs, contents.outputs);
}
