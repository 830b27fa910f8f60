//===- AttentionMatcher.cpp - Kernels that are attention ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibraryReadings.h"
#include "RoutineMatcher.h"

#include "regather/Dialect/TG/Library/LibraryCalls.h"
#include "regather/Dialect/TG/Nodes/AttentionTargets.h"
#include "regather/Dialect/TG/Nodes/NodeArguments.h"

#include <cmath>

using namespace mlir;
using namespace regather::nodes;
using namespace regather::tg;
using namespace regather::tg::library;

namespace {
class AttentionMatcher : public RoutineMatcher {
public:
  LibraryMatch<AttentionAttr> match(ArrayRef<Operation *> ops,
                                    ValueRange inputs, ValueRange outputs);

private:
  bool isRoutine(Operation *op) const override {
    return findAttentionTarget(op).has_value();
  }
  bool readNode(NodeOp op) override;
  bool readSizes(NodeArguments &args);
  bool addInput(BufferViewAttr &operand, Value value, ArrayRef<int64_t> shape,
                bool isMask = false);
  bool addOutput(unsigned number, Value output) override;
  AttentionAttr getCall() const;

  int64_t batch = 0, heads = 0, groups = 1, rows = 0, columns = 0;
  int64_t width = 0, valueWidth = 0;
  float scale = 1;
  std::optional<double> softcap;
  bool isCausal = false, isBackward = false, hasGradMask = false;
  BufferViewAttr q, k, v, mask, o, l, gradO, gradQ, gradK, gradV, gradMask;
};
} // namespace

/// Describes a tensor of three or four dimensions.
bool AttentionMatcher::addInput(BufferViewAttr &operand, Value value,
                                ArrayRef<int64_t> shape, bool isMask) {
  const StridedView *found = findInput(value);
  if (!found)
    return false;
  std::optional<StridedView> view = *found;
  if (isMask)
    view = view->apply(ViewTransform::broadcast(shape));
  if (!view || ArrayRef<int64_t>(view->shape) != shape)
    return fail("the shapes do not fit each other");
  operand = views.describeInput(*view);
  bool isBoolMask = isMask && getElementTypeOrSelf(value).isInteger(1);
  return isBoolMask || checkElement(value);
}

bool AttentionMatcher::readSizes(NodeArguments &args) {
  Tensor query = args.getTensor("query"), key = args.getTensor("key");
  Tensor value = args.getTensor("value");
  if (args.hasFailed() || failed(args.expectRank("query", query, 4)) ||
      failed(args.expectRank("key", key, 4)) ||
      failed(args.expectRank("value", value, 4)))
    return fail(kNoRoutine);
  ArrayRef<int64_t> shape = query.getType().getShape();
  int64_t keyHeads = key.getType().getDimSize(1);
  if (keyHeads == 0 || shape[1] % keyHeads != 0)
    return fail("the shapes do not fit each other");
  batch = shape[0];
  heads = shape[1];
  groups = shape[1] / keyHeads;
  rows = shape[2];
  columns = key.getType().getDimSize(2);
  width = shape[3];
  valueWidth = value.getType().getDimSize(3);
  isCausal = args.getBool("is_causal", false);
  scale = static_cast<float>(
      args.getFloat("scale", 1 / std::sqrt(static_cast<double>(width))));
  softcap = getSoftcap(args);
  if (softcap) {
    auto rounded = static_cast<float>(*softcap);
    if (!std::isfinite(rounded) || rounded == 0)
      return fail(kNoRoutine);
  }
  if (args.getFloat("dropout_p", 0.0) != 0)
    return fail("the library has no dropout");
  return !args.hasFailed() || fail(kNoRoutine);
}

bool AttentionMatcher::readNode(NodeOp op) {
  NodeTarget target = *findAttentionTarget(op);
  NodeArguments args(op, target, /*isQuiet=*/true);
  if (!readSizes(args))
    return false;
  int64_t keyHeads = heads / groups;
  if (!addInput(q, args.getTensor("query"), {batch, heads, rows, width}) ||
      !addInput(k, args.getTensor("key"), {batch, keyHeads, columns, width}) ||
      !addInput(v, args.getTensor("value"),
                {batch, keyHeads, columns, valueWidth}))
    return false;
  if (Tensor given = args.getOptionalTensor("attn_mask"))
    if (!addInput(mask, given, {batch, heads, rows, columns}, /*isMask=*/true))
      return false;
  if (isAttentionBackward(target)) {
    isBackward = true;
    hasGradMask = hasMaskGradient(target);
    if (hasGradMask && !mask)
      return fail(kNoRoutine);
    int64_t outputShape[] = {batch, heads, rows, valueWidth};
    Tensor logs = args.getTensor("logsumexp");
    if (args.hasFailed() || !logs.getType().getElementType().isF32() ||
        !addInput(gradO, args.getTensor("grad_out"), outputShape) ||
        !addInput(o, args.getTensor("out"), outputShape) ||
        !addInput(l, logs, ArrayRef(outputShape).drop_back()))
      return fail(kNoRoutine);
  }
  views.setNode(op);
  return !args.hasFailed() || fail(kNoRoutine);
}

bool AttentionMatcher::addOutput(unsigned number, Value output) {
  std::optional<unsigned> result = views.getResult(output);
  if (!result)
    return fail("another value is the result");
  std::optional<StridedView> view = views.getOutput(output);
  if (!view)
    return fail(kStrides);
  NodeOp node = views.getNode();
  auto type = cast<RankedTensorType>(node.getResult(*result).getType());
  BufferViewAttr *forward[] = {&o, &l};
  BufferViewAttr *backward[] = {&gradQ, &gradK, &gradV, &gradMask};
  ArrayRef<BufferViewAttr *> results =
      isBackward ? ArrayRef(backward) : ArrayRef(forward);
  // Shapes are those of what has the gradient, or of the query.
  SmallVector<int64_t> shape = {batch, heads, rows, valueWidth};
  bool isGradMask = isBackward && *result == 3;
  if (isGradMask)
    shape = {type.getRank() == 4 && type.getDimSize(0) == batch ? batch : 1,
             heads, rows, columns};
  else if (isBackward)
    shape = llvm::to_vector(
        cast<RankedTensorType>(node.getInputs()[*result + 1].getType())
            .getShape());
  else if (*result == 1)
    shape.pop_back();
  if (type.getShape() != ArrayRef(shape))
    return fail("the shapes do not fit each other");
  bool isOfF32 = *result == (isBackward ? 3 : 1);
  if (isOfF32 && !type.getElementType().isF32())
    return fail(kNoRoutine);
  *results[*result] = views.describeOutput(*view, number);
  // A sum over the batch.
  if (isGradMask && shape[0] != batch)
    gradMask = BufferViewAttr::get(
        gradMask.getContext(), gradMask.getBuffer(), gradMask.getOffset(),
        {0, gradMask.getStrides()[1], gradMask.getStrides()[2],
         gradMask.getStrides()[3]});
  return checkElement(output);
}

AttentionAttr AttentionMatcher::getCall() const {
  MLIRContext *context = q.getContext();
  return AttentionAttr::get(
      context, batch, heads, groups, rows, columns, width, valueWidth,
      FloatAttr::get(Float32Type::get(context), static_cast<double>(scale)),
      softcap ? FloatAttr::get(Float32Type::get(context), *softcap)
              : FloatAttr(),
      isCausal, q, k, v, mask, o, l, gradO, gradQ, gradK, gradV, gradMask);
}

LibraryMatch<AttentionAttr> AttentionMatcher::match(ArrayRef<Operation *> ops,
                                                    ValueRange inputs,
                                                    ValueRange outputs) {
  if (!read(ops, inputs, outputs))
    return {nullptr, reason};
  llvm::DenseSet<unsigned> given;
  for (Value output : outputs)
    if (!given.insert(*views.getResult(output)).second)
      return {nullptr, "a result is given twice"};
  unsigned needed = isBackward ? (hasGradMask ? 4 : 3) : 1;
  for (unsigned result = 0; result < needed; ++result)
    if (!given.contains(result))
      return {nullptr, "a result is missing"};
  return {getCall(), ""};
}

LibraryMatch<AttentionAttr>
regather::tg::matchAttention(ArrayRef<Operation *> ops, ValueRange inputs,
                             ValueRange outputs) {
  return AttentionMatcher().match(ops, inputs, outputs);
}

LibraryMatch<AttentionAttr> regather::tg::matchAttention(KernelOp kernel) {
  KernelContents contents(kernel);
  return matchAttention(contents.ops, contents.inputs, contents.outputs);
}
