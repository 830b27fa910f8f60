//===- MergeParts.cpp - Make one function of a partitioned step -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/StepAnalysis/MergeParts.h"

using namespace mlir;
using namespace regather;

/// A name for the function that the module does not have yet.
static std::string chooseName(ModuleOp module) {
  std::string name = "step";
  for (unsigned i = 1; module.lookupSymbol(name); ++i)
    name = "step_" + std::to_string(i);
  return name;
}

static LogicalResult verifyBlocks(func::FuncOp func) {
  if (func.getBody().hasOneBlock())
    return success();
  return func.emitError() << "expects a part of one block, got "
                          << func.getBody().getBlocks().size();
}

/// What a part says of its results, by number.
static DictionaryAttr getResultAttrs(func::FuncOp func, unsigned result) {
  DictionaryAttr attrs = func.getResultAttrDict(result);
  return attrs ? attrs : DictionaryAttr::get(func.getContext());
}

/// Moves the operations of `backward` behind those of `whole`, whose terminator
/// returns what forward did.
static void moveBackward(func::FuncOp whole, func::FuncOp backward,
                         ArrayRef<unsigned> saved) {
  Block &block = whole.front(), &moved = backward.front();
  Operation *end = block.getTerminator();
  unsigned numArguments = whole.getNumArguments();
  for (BlockArgument argument : moved.getArguments()) {
    unsigned number = argument.getArgNumber();
    argument.replaceAllUsesWith(
        number < numArguments ? Value(block.getArgument(number))
                              : end->getOperand(saved[number - numArguments]));
  }
  auto phase = tg::PhaseAttr::get(whole.getContext(), tg::Phase::Backward);
  for (Operation &op : moved.without_terminator())
    if (!tg::getPhase(&op))
      op.setAttr(tg::kPhaseAttrName, phase);
  block.getOperations().splice(end->getIterator(), moved.getOperations(),
                               moved.begin(),
                               moved.getTerminator()->getIterator());
}

FailureOr<AnalyzedStep> regather::mergeParts(const AnalyzedStep &step) {
  if (!step.backward)
    return step;
  func::FuncOp forward = step.entry, backward = step.backward->func;
  const StepPartition &partition = step.backward->partition;
  if (failed(verifyBlocks(forward)) || failed(verifyBlocks(backward)))
    return failure();

  SmallVector<DictionaryAttr> argumentAttrs, resultAttrs;
  forward.getAllArgAttrs(argumentAttrs);
  SmallVector<Value> results;
  for (unsigned number : partition.returned) {
    results.push_back(forward.front().getTerminator()->getOperand(number));
    resultAttrs.push_back(getResultAttrs(forward, number));
  }
  for (unsigned i = 0, e = backward.getNumResults(); i != e; ++i)
    resultAttrs.push_back(getResultAttrs(backward, i));
  SmallVector<Type> types(ValueRange(results).getTypes());
  llvm::append_range(types, backward.getResultTypes());

  auto module = forward->getParentOfType<ModuleOp>();
  OpBuilder builder(forward);
  auto whole = func::FuncOp::create(
      builder, forward.getLoc(), chooseName(module),
      builder.getFunctionType(forward.getArgumentTypes(), types));
  whole.setAllArgAttrs(argumentAttrs);
  whole.setAllResultAttrs(resultAttrs);
  whole.getBody().takeBody(forward.getBody());
  moveBackward(whole, backward, partition.saved);
  llvm::append_range(results, backward.front().getTerminator()->getOperands());
  whole.front().getTerminator()->setOperands(results);
  std::string name = whole.getName().str();
  backward.erase();
  forward.erase();
  return analyzeStep(module, name, step.signature.ranks);
}
