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

bool InPlaceOutputs::allows(Operation *op, Value input, Value output) {
  auto getBytes = [](Value value) {
    return getBufferBytes(cast<MemRefType>(value.getType()));
  };
  BufferPlace from = getPlace(input), to = getPlace(output);
  int64_t bytes = getBytes(from.base);
  if (from.base == to.base || to.offset != 0 || getBytes(output) != bytes ||
      getBytes(to.base) != bytes)
    return false;
  auto launch = dyn_cast<LaunchOp>(op);
  if (!launch)
    return isa<CopyOp>(op) && getBytes(input) == bytes;
  // Every operand that reads the buffer has to read it whole, and alike. One
  // buffer is one output.
  ArrayRef<tg::InPlacePair> safe = pairs.lookup(launch.getKernelAttr());
  for (auto [o, other] : llvm::enumerate(launch.getOutputs())) {
    if (getPlace(other).base != to.base)
      continue;
    if (other != output)
      return false;
    for (auto [i, operand] : llvm::enumerate(launch.getInputs()))
      if (getPlace(operand).base == from.base &&
          (getBytes(operand) != bytes ||
           !llvm::is_contained(safe, tg::InPlacePair(i, o))))
        return false;
  }
  return true;
}
