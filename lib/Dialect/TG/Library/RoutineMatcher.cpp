//===- RoutineMatcher.cpp - Kernels that are one node ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoutineMatcher.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::library;

KernelContents::KernelContents(KernelOp kernel)
    : inputs(kernel.getBody().front().getArguments()),
      outputs(kernel.getBody().front().getTerminator()->getOperands()) {
  for (Operation &op : kernel.getBody().front().without_terminator())
    ops.push_back(&op);
}

bool RoutineMatcher::read(ArrayRef<Operation *> ops, ValueRange inputs,
                          ValueRange outputs) {
  if (!views.start(inputs, outputs))
    return fail("a shape is dynamic");
  for (Operation *op : ops) {
    if (isRoutine(op) && !views.getNode()) {
      if (!readNode(cast<NodeOp>(op)))
        return false;
    } else if (StringRef why = views.readViews(op); !why.empty()) {
      return fail(why);
    }
  }
  if (!views.getNode())
    return fail("no node asks for it");
  for (auto [number, output] : llvm::enumerate(outputs))
    if (!addOutput(static_cast<unsigned>(number), output))
      return false;
  return true;
}

const StridedView *RoutineMatcher::findInput(Value value) {
  const StridedView *view = views.getInput(value);
  if (!view)
    fail("it computes what the routine reads");
  return view;
}

bool RoutineMatcher::checkElement(Value tensor) {
  Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
  return element.isF32() || element.isBF16() || element.isF16() ||
         fail("the library has no routine for numbers of this type");
}
