//===- CompiledFunction.cpp - Compiled functions --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompiledFunction.h"

using namespace mlir;
using namespace regather::interp;

LogicalResult CompiledBlock::run(RankRun &rank, Frame &frame,
                                 RuntimeValues &values) const {
  for (auto [slot, value] : llvm::zip_equal(arguments, values))
    frame.values[slot] = std::move(value);
  values.clear();
  for (const StepFunction &step : steps)
    if (failed(step(rank, frame)))
      return failure();
  for (Use use : yields)
    values.push_back(take(frame, use));
  return success();
}

LogicalResult CompiledFunction::run(RankRun &rank,
                                    RuntimeValues &values) const {
  Frame frame;
  frame.values.resize(numSlots);
  return body.run(rank, frame, values);
}
