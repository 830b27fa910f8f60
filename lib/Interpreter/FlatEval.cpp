//===- FlatEval.cpp - Steps for flat tensors and their members ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compiler.h"

#include "regather/Dialect/TG/IR/TG.h"

using namespace mlir;
using namespace regather;
using namespace regather::interp;

static StepFunction build(tg::UnflattenOp op, Compiler &compiler) {
  auto types = llvm::map_to_vector(op.getTensors().getTypes(), [](Type type) {
    return cast<RankedTensorType>(type);
  });
  return [types, offsets = SmallVector<int64_t>(op.getOffsets()),
          input = compiler.getSlot(op.getFlat()),
          slots = compiler.getSlots(op.getTensors())](RankRun &, Frame &frame) {
    const Tensor &flat = *frame.values[input].tensor;
    for (auto [type, offset, slot] : llvm::zip_equal(types, offsets, slots)) {
      TensorRef member = Tensor::create(type);
      for (int64_t i = 0, e = member->getNumElements(); i < e; ++i)
        member->store(i, flat.load(offset + i));
      frame.values[slot].tensor = std::move(member);
    }
    return success();
  };
}

static StepFunction build(tg::FlattenOp op, Compiler &compiler) {
  return [type = op.getFlat().getType(),
          offsets = SmallVector<int64_t>(op.getOffsets()),
          inputs = compiler.getSlots(op.getTensors()),
          slot = compiler.getSlot(op.getFlat())](RankRun &, Frame &frame) {
    TensorRef flat = Tensor::create(type);
    flat->fill(0);
    for (auto [offset, input] : llvm::zip_equal(offsets, inputs)) {
      const Tensor &member = *frame.values[input].tensor;
      for (int64_t i = 0, e = member.getNumElements(); i < e; ++i)
        flat->store(offset + i, member.load(i));
    }
    frame.values[slot].tensor = std::move(flat);
    return success();
  };
}

StepFunction regather::interp::buildFlatStep(Operation *op,
                                             Compiler &compiler) {
  if (auto unflatten = dyn_cast<tg::UnflattenOp>(op))
    return build(unflatten, compiler);
  if (auto flatten = dyn_cast<tg::FlattenOp>(op))
    return build(flatten, compiler);
  return nullptr;
}
