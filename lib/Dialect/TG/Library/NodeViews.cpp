//===- NodeViews.cpp - What surrounds the node of a call ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeViews.h"

#include "LibraryReadings.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::library;

bool NodeViews::start(ValueRange kernelInputs, ValueRange outputs) {
  inputs = kernelInputs;
  auto isTensor = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.hasStaticShape();
  };
  if (!llvm::all_of(inputs, isTensor) || !llvm::all_of(outputs, isTensor))
    return false;
  for (Value input : inputs)
    views.try_emplace(input, StridedView::dense(input));
  return true;
}

void NodeViews::setNode(NodeOp given) {
  node = given;
  for (OpResult result : node->getResults())
    chains[result] = {result.getResultNumber(), {}};
}

StringRef NodeViews::readViews(Operation *op) {
  for (OpResult result : op->getResults()) {
    std::optional<ViewReading> reading = readView(result);
    if (!reading)
      return kNoRoutine;
    if (auto it = chains.find(reading->operand); it != chains.end()) {
      Chain chain = it->second;
      llvm::append_range(chain.transforms, reading->transforms);
      chains[result] = std::move(chain);
      continue;
    }
    auto it = views.find(reading->operand);
    if (it == views.end())
      return kNoRoutine;
    std::optional<StridedView> view = it->second.apply(reading->transforms);
    if (!view)
      return kStrides;
    views[result] = std::move(*view);
  }
  return "";
}

const StridedView *NodeViews::getInput(Value value) const {
  auto it = views.find(value);
  return it == views.end() ? nullptr : &it->second;
}

static BufferViewAttr describe(const StridedView &view, int64_t buffer) {
  return BufferViewAttr::get(view.base.getContext(), buffer, view.offset,
                             view.strides);
}

BufferViewAttr NodeViews::describeInput(const StridedView &view) const {
  return describe(view, llvm::find(inputs, view.base) - inputs.begin());
}

std::optional<unsigned> NodeViews::getResult(Value output) const {
  auto it = chains.find(output);
  if (it == chains.end())
    return std::nullopt;
  return it->second.result;
}

std::optional<StridedView> NodeViews::getOutput(Value output) const {
  const Chain &chain = chains.find(output)->second;
  auto type = dyn_cast<RankedTensorType>(
      NodeOp(node).getResult(chain.result).getType());
  if (!type)
    return std::nullopt;
  return StridedView::dense(output).revert(chain.transforms, type.getShape());
}

BufferViewAttr NodeViews::describeOutput(const StridedView &view,
                                         size_t number) const {
  return describe(view, static_cast<int64_t>(inputs.size() + number));
}
