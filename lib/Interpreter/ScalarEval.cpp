//===- ScalarEval.cpp - Steps for arith and math --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The same code serves an operation on scalars and on tensors, to each element
// of which arith and math apply it.
//
//===----------------------------------------------------------------------===//

#include "Compiler.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace regather::interp;

static StepFunction buildConstant(arith::ConstantOp op, Compiler &compiler) {
  RuntimeValue value;
  if (auto elements = dyn_cast<DenseElementsAttr>(op.getValue()))
    value.tensor = Tensor::fromAttr(elements);
  else if (isa<FloatAttr, IntegerAttr>(op.getValue()))
    value.bits = getScalarBits(op.getValue());
  else
    return nullptr;
  // The step keeps a reference, so that nobody writes to the constant.
  return [value, slot = compiler.getSlot(op.getResult())](RankRun &,
                                                          Frame &frame) {
    frame.values[slot] = value;
    return success();
  };
}

namespace {
/// An operation on scalars, or on the elements of tensors of one shape.
struct ElementwiseStep {
  Operation *op;
  SmallVector<unsigned> operands;
  SmallVector<unsigned> results;
  ScalarCode code;
  bool onTensors = false;

  LogicalResult run(RankRun &rank, Frame &frame) const {
    return onTensors ? runOnTensors(rank, frame) : runOnScalars(rank, frame);
  }

  LogicalResult execute(RankRun &rank, uint64_t *slots) const {
    ScalarError error = ScalarError::None;
    if (const ScalarInstr *failed = code.run(slots, error))
      return rank.fail(op, describeError(error, *failed, slots));
    return success();
  }

  LogicalResult runOnScalars(RankRun &rank, Frame &frame) const {
    SmallVector<uint64_t, 8> slots(code.initialSlots.begin(),
                                   code.initialSlots.end());
    for (auto [i, slot] : llvm::enumerate(operands))
      slots[i] = frame.values[slot].bits;
    if (failed(execute(rank, slots.data())))
      return failure();
    for (auto [i, slot] : llvm::enumerate(results))
      frame.values[slot].bits = slots[operands.size() + i];
    return success();
  }

  LogicalResult runOnTensors(RankRun &rank, Frame &frame) const {
    SmallVector<uint64_t, 8> slots(code.initialSlots.begin(),
                                   code.initialSlots.end());
    // A scalar operand beside tensors is the condition of a select.
    SmallVector<TensorRef> inputs, outputs;
    for (auto [i, slot] : llvm::enumerate(operands)) {
      inputs.push_back(frame.values[slot].tensor);
      slots[i] = frame.values[slot].bits;
    }
    for (Type type : op->getResultTypes())
      outputs.push_back(Tensor::create(cast<RankedTensorType>(type)));
    for (int64_t i = 0, e = outputs[0]->getNumElements(); i < e; ++i) {
      for (auto [slot, input] : llvm::enumerate(inputs))
        if (input)
          slots[slot] = input->load(i);
      if (failed(execute(rank, slots.data())))
        return failure();
      for (auto [slot, output] : llvm::enumerate(outputs))
        output->store(i, slots[operands.size() + slot]);
    }
    for (auto [i, slot] : llvm::enumerate(results))
      frame.values[slot].tensor = std::move(outputs[i]);
    return success();
  }
};
} // namespace

StepFunction regather::interp::buildScalarStep(Operation *op,
                                               Compiler &compiler) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return buildConstant(constant, compiler);
  ElementwiseStep step;
  step.op = op;
  SmallVector<unsigned> operands, results;
  for (unsigned i = 0, e = op->getNumOperands(); i != e; ++i)
    operands.push_back(step.code.addSlot());
  for (unsigned i = 0, e = op->getNumResults(); i != e; ++i)
    results.push_back(step.code.addSlot());
  if (!appendScalarOp(op, operands, results, step.code))
    return nullptr;
  step.operands = compiler.getSlots(op->getOperands());
  step.results = compiler.getSlots(op->getResults());
  step.onTensors = llvm::any_of(op->getResultTypes(), [](Type type) {
    return isa<RankedTensorType>(type);
  });
  return [step = std::move(step)](RankRun &rank, Frame &frame) {
    return step.run(rank, frame);
  };
}
