//===- GroupedGemmMatcher.cpp - Kernels that are grouped GEMMs ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibrarySteps.h"
#include "NodeViews.h"

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
class GroupedGemmMatcher {
public:
  explicit GroupedGemmMatcher(double smallest) : smallest(smallest) {}

  LibraryMatch<GroupedGemmAttr> match(ArrayRef<Operation *> ops,
                                      ValueRange inputs, ValueRange outputs);

private:
  bool fail(StringRef why) {
    if (reason.empty())
      reason = why;
    return false;
  }
  bool readNode(NodeOp op);
  bool addInput(BufferViewAttr &operand, const GroupedOperand &given);
  bool addOutput(unsigned number, Value output);
  GroupedGemmAttr getCall() const;

  double smallest;
  NodeViews views;
  GroupedGemm sizes;
  BufferViewAttr x, w, y, ends, toX, toW, toY;
  StringRef reason;
};
} // namespace

/// `view` with the last two dimensions the other way round if `isTransposed`.
static std::optional<StridedView> orient(const StridedView &view, size_t rank,
                                         bool isTransposed) {
  if (!isTransposed)
    return view;
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(order[rank - 2], order.back());
  return view.apply(ViewStep::permute(order));
}

bool GroupedGemmMatcher::addInput(BufferViewAttr &operand,
                                  const GroupedOperand &given) {
  if (!given.tensor)
    return true;
  const StridedView *found = views.getInput(given.tensor);
  if (!found)
    return fail("it computes what the GEMM reads");
  if (!isRoutineElement(given.tensor))
    return fail("the library has no grouped GEMM for numbers of this type");
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
  const StridedView *found = views.getInput(sizes.ends);
  if (!found)
    return fail("it computes the ends of groups");
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
  if (!isRoutineElement(output))
    return fail("the library has no grouped GEMM for numbers of this type");
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
  if (!views.start(inputs, outputs))
    return {nullptr, "a shape is dynamic"};
  for (Operation *op : ops) {
    bool isNode = findGroupedGemmTarget(op) && !views.getNode();
    if (isNode && !readNode(cast<NodeOp>(op)))
      return {nullptr, reason};
    if (StringRef why = isNode ? "" : views.readViews(op); !why.empty())
      return {nullptr, why};
  }
  if (!views.getNode())
    return {nullptr, "there is no grouped GEMM"};
  for (auto [number, output] : llvm::enumerate(outputs))
    if (!addOutput(number, output))
      return {nullptr, reason};
  return {getCall(), ""};
}

LibraryMatch<GroupedGemmAttr>
regather::tg::matchGroupedGemm(ArrayRef<Operation *> ops, ValueRange inputs,
                               ValueRange outputs) {
  return GroupedGemmMatcher(kSmallestGroupedGemm).match(ops, inputs, outputs);
}

LibraryMatch<GroupedGemmAttr> regather::tg::matchGroupedGemm(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    ops.push_back(&op);
  return GroupedGemmMatcher(/*smallest=*/0)
      .match(ops, body.getArguments(), body.getTerminator()->getOperands());
}
