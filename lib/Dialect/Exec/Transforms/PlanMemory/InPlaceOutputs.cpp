//===- InPlaceOutputs.cpp - Outputs in the places of inputs ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InPlaceOutputs.h"

using namespace mlir;
using namespace regather;
using namespace regather::exec;

static int64_t getSize(Value value) {
  return getBufferBytes(cast<MemRefType>(value.getType()));
}

bool InPlaceOutputs::allows(Operation *op, Value input, Value output) {
  BufferPlace to = getPlace(output);
  return to.offset == 0 && getSize(output) == getSize(to.base) &&
         allowsPart(op, input, output);
}

bool InPlaceOutputs::allowsPart(Operation *op, Value input, Value output) {
  BufferPlace from = getPlace(input), to = getPlace(output);
  int64_t bytes = getSize(output);
  if (from.base == to.base || getSize(to.base) != getSize(from.base))
    return false;
  auto isSamePart = [&](Value operand) {
    return getPlace(operand).offset == to.offset && getSize(operand) == bytes;
  };
  auto launch = dyn_cast<LaunchOp>(op);
  if (!launch)
    return isa<CopyOp>(op) && isSamePart(input);
  // Every operand that reads the buffer has to read the part whole, and alike.
  // One buffer is one output.
  ArrayRef<tg::InPlacePair> safe = pairs.lookup(launch.getKernelAttr());
  for (auto [o, other] : llvm::enumerate(launch.getOutputs())) {
    if (getPlace(other).base != to.base)
      continue;
    if (other != output)
      return false;
    for (auto [i, operand] : llvm::enumerate(launch.getInputs()))
      if (getPlace(operand).base == from.base &&
          (!isSamePart(operand) ||
           !llvm::is_contained(safe, tg::InPlacePair(i, o))))
        return false;
  }
  return true;
}
