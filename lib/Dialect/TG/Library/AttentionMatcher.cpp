//===- AttentionMatcher.cpp - Kernels that are attention ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibrarySteps.h"

#include "regather/Dialect/TG/Library/LibraryCalls.h"
#include "regather/Dialect/TG/Nodes/AttentionTargets.h"
#include "regather/Dialect/TG/Nodes/NodeArguments.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace regather::nodes;
using namespace regather::tg;
using namespace regather::tg::library;

std::optional<Routine> regather::tg::getAttentionRoutine(Operation *op) {
  const AttentionTarget *target = findAttentionTarget(op);
  if (!target)
    return std::nullopt;
  return target->isBackward ? Routine::AttentionBackward : Routine::Attention;
}

namespace {
class AttentionMatcher {
public:
  LibraryMatch<rg_attention_desc> match(ArrayRef<Operation *> ops,
                                        ValueRange inputs, ValueRange outputs);

private:
  /// A view of a result of the node.
  struct Chain {
    unsigned result;
    SmallVector<ViewStep, 4> steps;
  };

  bool fail(StringRef why) {
    if (reason.empty())
      reason = why;
    return false;
  }
  bool readOp(Operation *op);
  bool readNode(NodeOp op, const AttentionTarget &target);
  bool readSizes(NodeArguments &args);
  bool addInput(rg_attention_operand &operand, Value value,
                ArrayRef<int64_t> shape, bool isMask = false);
  bool addOutput(unsigned number, Value output);
  bool describe(rg_attention_operand &operand, const StridedView &view,
                int32_t buffer, bool isMask);

  ValueRange inputs;
  llvm::DenseMap<Value, StridedView> views;
  llvm::DenseMap<Value, Chain> chains;
  NodeOp node;
  rg_attention_desc desc;
  StringRef reason;
};
} // namespace

bool AttentionMatcher::describe(rg_attention_operand &operand,
                                const StridedView &view, int32_t buffer,
                                bool isMask) {
  Type element = cast<RankedTensorType>(view.base.getType()).getElementType();
  if (element.isF32())
    operand.dtype = RG_F32;
  else if (element.isBF16())
    operand.dtype = RG_BF16;
  else if (element.isF16())
    operand.dtype = RG_F16;
  else if (isMask && element.isInteger(1))
    operand.dtype = RG_I1;
  else
    return fail("the library has no attention for numbers of this type");
  operand.buffer = buffer;
  operand.offset = view.offset;
  llvm::copy(view.strides, operand.strides);
  return true;
}

/// Describes a tensor of three or four dimensions.
bool AttentionMatcher::addInput(rg_attention_operand &operand, Value value,
                                ArrayRef<int64_t> shape, bool isMask) {
  auto it = views.find(value);
  if (it == views.end())
    return fail("it computes what the attention reads");
  std::optional<StridedView> view = it->second;
  if (isMask)
    view = view->apply(ViewStep::broadcast(shape));
  if (!view || ArrayRef<int64_t>(view->shape) != shape)
    return fail("the shapes do not fit each other");
  auto input = llvm::find(inputs, view->base);
  return describe(operand, *view, static_cast<int32_t>(input - inputs.begin()),
                  isMask);
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
  desc.batch = shape[0];
  desc.heads = shape[1];
  desc.groups = shape[1] / keyHeads;
  desc.rows = shape[2];
  desc.columns = key.getType().getDimSize(2);
  desc.width = shape[3];
  desc.value_width = value.getType().getDimSize(3);
  desc.causal = args.getBool("is_causal", false);
  desc.scale = static_cast<float>(
      args.getFloat("scale", 1 / std::sqrt(static_cast<double>(desc.width))));
  if (args.getFloat("dropout_p", 0.0) != 0)
    return fail("the library has no dropout");
  return !args.hasFailed() || fail(kNoRoutine);
}

bool AttentionMatcher::readNode(NodeOp op, const AttentionTarget &target) {
  node = op;
  NodeArguments args(op, target.schema, /*isQuiet=*/true);
  if (!readSizes(args))
    return false;
  int64_t keyHeads = desc.heads / desc.groups;
  SmallVector<int64_t> keyShape = {desc.batch, keyHeads, desc.columns,
                                   desc.width};
  SmallVector<int64_t> valueShape = keyShape;
  valueShape.back() = desc.value_width;
  SmallVector<int64_t> queryShape = {desc.batch, desc.heads, desc.rows,
                                     desc.width};
  SmallVector<int64_t> outputShape = queryShape;
  outputShape.back() = desc.value_width;
  if (!addInput(desc.q, args.getTensor("query"), queryShape) ||
      !addInput(desc.k, args.getTensor("key"), keyShape) ||
      !addInput(desc.v, args.getTensor("value"), valueShape))
    return false;
  if (Tensor mask = args.getOptionalTensor("attn_mask")) {
    desc.masked = 1;
    SmallVector<int64_t> shape = {desc.batch, desc.heads, desc.rows,
                                  desc.columns};
    if (!addInput(desc.mask, mask, shape, /*isMask=*/true))
      return false;
  }
  desc.l.buffer = -1;
  desc.l.dtype = RG_F32;
  if (target.isBackward) {
    desc.backward = 1;
    Tensor logs = args.getTensor("logsumexp");
    if (args.hasFailed() || !logs.getType().getElementType().isF32() ||
        !addInput(desc.grad_o, args.getTensor("grad_out"), outputShape) ||
        !addInput(desc.o, args.getTensor("out"), outputShape) ||
        !addInput(desc.l, logs, ArrayRef(outputShape).drop_back()))
      return fail(kNoRoutine);
  }
  for (OpResult result : op->getResults())
    chains[result] = {result.getResultNumber(), {}};
  return !args.hasFailed() || fail(kNoRoutine);
}

bool AttentionMatcher::readOp(Operation *op) {
  if (const AttentionTarget *target = findAttentionTarget(op); target && !node)
    return readNode(cast<NodeOp>(op), *target);
  for (OpResult result : op->getResults()) {
    std::optional<ViewReading> reading = readView(result);
    if (!reading)
      return fail(kNoRoutine);
    if (auto it = chains.find(reading->operand); it != chains.end()) {
      Chain chain = it->second;
      llvm::append_range(chain.steps, reading->steps);
      chains[result] = std::move(chain);
      continue;
    }
    auto it = views.find(reading->operand);
    if (it == views.end())
      return fail(kNoRoutine);
    std::optional<StridedView> view = it->second.apply(reading->steps);
    if (!view)
      return fail(kStrides);
    views[result] = std::move(*view);
  }
  return true;
}

bool AttentionMatcher::addOutput(unsigned number, Value output) {
  auto it = chains.find(output);
  if (it == chains.end())
    return fail("another value is the result");
  const Chain &chain = it->second;
  auto type =
      dyn_cast<RankedTensorType>(node.getResult(chain.result).getType());
  std::optional<StridedView> view =
      StridedView::dense(output).revert(chain.steps, type.getShape());
  if (!view)
    return fail(kStrides);
  rg_attention_operand *forward[] = {&desc.o, &desc.l};
  rg_attention_operand *backward[] = {&desc.grad_q, &desc.grad_k, &desc.grad_v};
  ArrayRef<rg_attention_operand *> results =
      desc.backward ? ArrayRef(backward) : ArrayRef(forward);
  // Shapes are those of what has the gradient, or of the query.
  SmallVector<int64_t> shape = {desc.batch, desc.heads, desc.rows,
                                desc.value_width};
  if (desc.backward)
    shape = llvm::to_vector(
        cast<RankedTensorType>(node.getInputs()[chain.result + 1].getType())
            .getShape());
  else if (chain.result == 1)
    shape.pop_back();
  if (type.getShape() != ArrayRef(shape))
    return fail("the shapes do not fit each other");
  if (!desc.backward && chain.result == 1 && !type.getElementType().isF32())
    return fail(kNoRoutine);
  return describe(*results[chain.result], *view,
                  static_cast<int32_t>(inputs.size() + number), false);
}

LibraryMatch<rg_attention_desc>
AttentionMatcher::match(ArrayRef<Operation *> ops, ValueRange kernelInputs,
                        ValueRange outputs) {
  // Descriptions are compared as bytes, padding included.
  memset(&desc, 0, sizeof(desc));
  inputs = kernelInputs;
  auto isTensor = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.hasStaticShape();
  };
  if (!llvm::all_of(inputs, isTensor) || !llvm::all_of(outputs, isTensor))
    return {std::nullopt, "a shape is dynamic"};
  for (Value input : inputs)
    views.try_emplace(input, StridedView::dense(input));
  for (Operation *op : ops)
    if (!readOp(op))
      return {std::nullopt, reason};
  if (!node)
    return {std::nullopt, "there is no attention"};
  llvm::DenseSet<unsigned> given;
  for (auto [number, output] : llvm::enumerate(outputs)) {
    if (!addOutput(number, output))
      return {std::nullopt, reason};
    if (!given.insert(chains.find(output)->second.result).second)
      return {std::nullopt, "a result is given twice"};
  }
  unsigned needed = desc.backward ? 3 : 1;
  for (unsigned result = 0; result < needed; ++result)
    if (!given.contains(result))
      return {std::nullopt, "a result is missing"};
  return {desc, ""};
}

LibraryMatch<rg_attention_desc>
regather::tg::matchAttention(ArrayRef<Operation *> ops, ValueRange inputs,
                             ValueRange outputs) {
  return AttentionMatcher().match(ops, inputs, outputs);
}

std::optional<rg_attention_desc> regather::tg::matchAttention(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    ops.push_back(&op);
  return matchAttention(ops, body.getArguments(),
                        body.getTerminator()->getOperands())
      .desc;
}
