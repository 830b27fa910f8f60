//===- ElementBody.cpp - Regions that compute one element -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace regather::interp;

ElementBody::ElementBody(Block &block, unsigned numLoops, Compiler &compiler)
    : numLoops(numLoops), numArguments(block.getNumArguments()) {
  code.initialSlots.assign(numLoops + numArguments, 0);
  flat = compileFlat(block, compiler);
  if (!flat)
    compileSteps(block, compiler);
}

//===----------------------------------------------------------------------===//
// tensor.extract in a body
//===----------------------------------------------------------------------===//

/// offset = offset * size + index; the index must be below the size.
static ScalarError addIndex(const ScalarInstr &instr, uint64_t *slots) {
  uint64_t index = slots[instr.operands[1]];
  if (index >= static_cast<uint64_t>(instr.number))
    return ScalarError::OutOfBounds;
  slots[instr.result] = slots[instr.operands[0]] * instr.number + index;
  return ScalarError::None;
}

static ScalarError loadElement(const ScalarInstr &instr, uint64_t *slots) {
  auto *tensor = reinterpret_cast<const Tensor *>(slots[instr.operands[0]]);
  slots[instr.result] = tensor->load(slots[instr.operands[1]]);
  return ScalarError::None;
}

static void appendExtract(tensor::ExtractOp op, unsigned tensor,
                          ArrayRef<unsigned> indices, unsigned result,
                          ScalarCode &code) {
  ScalarInstr instr;
  instr.op = op;
  unsigned offset = code.addSlot();
  for (auto [dim, index] : llvm::enumerate(indices)) {
    instr.function = addIndex;
    instr.operands[0] = offset;
    instr.operands[1] = index;
    instr.number = op.getTensor().getType().getDimSize(dim);
    offset = instr.result = code.addSlot();
    code.instructions.push_back(instr);
  }
  instr.function = loadElement;
  instr.operands[0] = tensor;
  instr.operands[1] = offset;
  instr.result = result;
  code.instructions.push_back(instr);
}

//===----------------------------------------------------------------------===//
// Flat bodies
//===----------------------------------------------------------------------===//

bool ElementBody::compileFlat(Block &block, Compiler &compiler) {
  llvm::DenseMap<Value, unsigned> local;
  for (BlockArgument argument : block.getArguments())
    local[argument] = numLoops + argument.getArgNumber();
  auto getLocal = [&](Value value) {
    auto [it, inserted] = local.try_emplace(value, 0);
    if (!inserted)
      return it->second;
    it->second = code.addSlot();
    if (value.getParentBlock() != &block)
      captures.push_back({compiler.getSlot(value), it->second,
                          isa<RankedTensorType>(value.getType())});
    return it->second;
  };

  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      for (Value value : op.getOperands())
        results.push_back(getLocal(value));
      return true;
    }
    if (!compiler.checkTypes(&op))
      return false;
    if (llvm::any_of(op.getResultTypes(),
                     [](Type type) { return isa<RankedTensorType>(type); }))
      return false;
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      local[constant.getResult()] =
          code.addSlot(getScalarBits(constant.getValue()));
      continue;
    }
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      local[index.getResult()] = index.getDim();
      continue;
    }
    SmallVector<unsigned> operands;
    for (Value value : op.getOperands())
      operands.push_back(getLocal(value));
    SmallVector<unsigned> resultSlots;
    for (Value value : op.getResults())
      resultSlots.push_back(getLocal(value));
    if (auto extract = dyn_cast<tensor::ExtractOp>(op))
      appendExtract(extract, operands[0], ArrayRef(operands).drop_front(),
                    resultSlots[0], code);
    else if (!appendScalarOp(&op, operands, resultSlots, code))
      return false;
  }
  return false;
}

void ElementBody::compileSteps(Block &block, Compiler &compiler) {
  code.initialSlots.assign(numLoops + numArguments, 0);
  code.instructions.clear();
  captures.clear();
  results.clear();
  firstIndexSlot = compiler.addSlots(numLoops);
  compiler.loopIndexSlots[block.getParentOp()] = firstIndexSlot;
  steps = compiler.compileBlock(block);
  for (size_t i = 0, e = steps.yields.size(); i != e; ++i)
    results.push_back(code.addSlot());
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

ElementBody::Instance::Instance(const ElementBody &body, RankRun &rank,
                                Frame &frame)
    : body(body), rank(rank), frame(frame),
      slots(body.code.initialSlots.begin(), body.code.initialSlots.end()) {
  for (const Capture &capture : body.captures) {
    const RuntimeValue &value = frame.values[capture.from];
    // The frame keeps the tensor alive: a captured value is used in another
    // block than its own, hence never moved out.
    slots[capture.to] = capture.isTensor
                            ? reinterpret_cast<uint64_t>(value.tensor.get())
                            : value.bits;
  }
}

LogicalResult ElementBody::Instance::run() {
  if (!body.flat)
    return runSteps();
  ScalarError error = ScalarError::None;
  if (const ScalarInstr *failed = body.code.run(slots.data(), error))
    return rank.fail(failed->op, describeError(error, *failed, slots.data()));
  return success();
}

LogicalResult ElementBody::Instance::runSteps() {
  for (unsigned i = 0; i < body.numLoops; ++i)
    frame.values[body.firstIndexSlot + i].bits = slots[i];
  RuntimeValues values(body.numArguments);
  for (unsigned i = 0; i < body.numArguments; ++i)
    values[i].bits = slots[body.numLoops + i];
  if (failed(body.steps.run(rank, frame, values)))
    return failure();
  for (auto [slot, value] : llvm::zip_equal(body.results, values))
    slots[slot] = value.bits;
  return success();
}
