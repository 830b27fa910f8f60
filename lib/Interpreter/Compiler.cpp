//===- Compiler.cpp - From operations to steps ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Compiling never stops at an error: what cannot be evaluated is noted and left
// out, and the program is thrown away in the end.
//
//===----------------------------------------------------------------------===//

#include "Compiler.h"

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace regather;
using namespace regather::interp;

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

unsigned Compiler::getSlot(Value value) {
  auto [it, inserted] = slots.try_emplace(value, numSlots);
  if (inserted)
    ++numSlots;
  return it->second;
}

unsigned Compiler::addSlots(unsigned count) {
  unsigned first = numSlots;
  numSlots += count;
  return first;
}

Use Compiler::getUse(OpOperand &operand) {
  Value value = operand.get();
  // Each time the block runs, the value is defined anew before it is used; in
  // another block it may be used several times for one definition.
  bool last = value.hasOneUse() &&
              value.getParentBlock() == operand.getOwner()->getBlock();
  return {getSlot(value), last};
}

SmallVector<Use> Compiler::getUses(MutableArrayRef<OpOperand> range) {
  return llvm::map_to_vector(
      range, [&](OpOperand &operand) { return getUse(operand); });
}

SmallVector<unsigned> Compiler::getSlots(ValueRange values) {
  return llvm::map_to_vector(values,
                             [&](Value value) { return getSlot(value); });
}

//===----------------------------------------------------------------------===//
// Functions and blocks
//===----------------------------------------------------------------------===//

const CompiledFunction *Compiler::getFunction(FunctionOpInterface function) {
  std::unique_ptr<CompiledFunction> &program = functions[function];
  if (!program) {
    program = std::make_unique<CompiledFunction>();
    program->function = function;
    // The reference does not outlive a rehash; the program does.
    compileFunction(*program);
  }
  return functions[function].get();
}

void Compiler::compileFunction(CompiledFunction &program) {
  FunctionOpInterface function = program.function;
  if (function.isExternal())
    return noteError(function, "function '" + function.getName() +
                                   "' has no body to interpret");
  // Calls compile other functions on the way.
  auto outerSlots = std::move(slots);
  unsigned outerNumSlots = numSlots;
  slots.clear();
  numSlots = 0;
  if (function.getFunctionBody().hasOneBlock())
    program.body = compileBlock(function.getFunctionBody().front());
  else
    noteError(function,
              "the interpreter needs functions of one block, but '" +
                  function.getName() + "' has " +
                  Twine(function.getFunctionBody().getBlocks().size()));
  program.numSlots = numSlots;
  slots = std::move(outerSlots);
  numSlots = outerNumSlots;
}

const Group *Compiler::getGroup(ArrayRef<int64_t> members) {
  for (const std::unique_ptr<Group> &group : groups)
    if (ArrayRef<int64_t>(group->members) == members)
      return group.get();
  groups.push_back(std::make_unique<Group>());
  groups.back()->id = groups.size() - 1;
  groups.back()->members.assign(members.begin(), members.end());
  return groups.back().get();
}

static StepFunction buildStep(Operation *op, Compiler &compiler) {
  for (auto *build : {buildScalarStep, buildTensorStep, buildSliceStep,
                      buildLinalgStep, buildControlFlowStep,
                      buildCollectiveStep, buildFlatStep, buildRandomStep})
    if (StepFunction step = build(op, compiler))
      return step;
  return nullptr;
}

CompiledBlock Compiler::compileBlock(Block &block) {
  CompiledBlock program;
  for (BlockArgument argument : block.getArguments()) {
    checkType(block.getParentOp(), argument, argument.getType());
    program.arguments.push_back(getSlot(argument));
  }
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      program.yields = getUses(op.getOpOperands());
      continue;
    }
    StringRef dialect = op.getName().getDialectNamespace();
    bool known = llvm::is_contained(
        {"arith", "math", "tensor", "linalg", "scf", "func", "tg"}, dialect);
    // The types of an operation that nobody knows say nothing new.
    if (!known || isa<tg::NodeOp>(op)) {
      noteUnsupported(&op);
      continue;
    }
    if (!checkTypes(&op))
      continue;
    if (StepFunction step = buildStep(&op, *this))
      program.steps.push_back(std::move(step));
    else
      noteUnsupported(&op);
  }
  return program;
}

//===----------------------------------------------------------------------===//
// What cannot be evaluated
//===----------------------------------------------------------------------===//

static std::string getName(Value value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  value.printAsOperand(os, OpPrintingFlags());
  return text;
}

void Compiler::checkType(Operation *op, Value value, Type type) {
  if (valueErrors.count(value))
    return;
  auto note = [&](const Twine &message) {
    valueErrors.insert({value, Error{op, message.str()}});
  };
  if (auto future = dyn_cast<tg::FutureType>(type)) {
    for (Type tensor : future.getTensors())
      checkType(op, value, tensor);
    return;
  }
  Type element = type;
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    for (auto [dim, size] : llvm::enumerate(tensor.getShape()))
      if (ShapedType::isDynamic(size))
        return note("dimension " + Twine(dim) + " of '" + getName(value) +
                    "' is dynamic, but the interpreter needs static shapes");
    element = tensor.getElementType();
  }
  if (succeeded(getScalarType(element)))
    return;
  std::string text;
  llvm::raw_string_ostream(text) << type;
  note("'" + getName(value) + "' has type '" + text +
       "', which the interpreter does not support");
}

bool Compiler::checkTypes(Operation *op) {
  for (Value value : op->getResults())
    checkType(op, value, value.getType());
  auto isBad = [&](Value value) { return valueErrors.count(value) != 0; };
  return llvm::none_of(op->getResults(), isBad) &&
         llvm::none_of(op->getOperands(), isBad);
}

void Compiler::noteError(Operation *op, const Twine &message) {
  errors.push_back({op, message.str()});
}

void Compiler::noteUnsupported(Operation *op) {
  StringAttr key = op->getName().getIdentifier();
  if (auto node = dyn_cast<tg::NodeOp>(op))
    key = StringAttr::get(op->getContext(), "node '" + node.getTarget() + "'");
  else
    key = StringAttr::get(op->getContext(), "'" + key.getValue() + "'");
  Unsupported &entry = unsupported[key];
  if (entry.count++ == 0)
    entry.first = op;
}

LogicalResult Compiler::emitErrors() {
  for (auto &[value, error] : valueErrors)
    emitError(value.getLoc()) << error.message;
  for (auto &error : errors)
    emitError(error.op->getLoc()) << error.message;
  for (auto &[name, entry] : unsupported) {
    InFlightDiagnostic diag = emitError(entry.first->getLoc())
                              << name.getValue()
                              << " is not supported by the interpreter";
    if (entry.count > 1)
      diag << " (" << entry.count << " uses, the first here)";
  }
  return success(valueErrors.empty() && errors.empty() && unsupported.empty());
}
