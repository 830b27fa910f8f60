//===- StepSplitter.cpp - Two functions of one step -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepSplitter.h"

#include "regather/Dialect/TG/Steps/StepEntry.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::partition;

SmallVector<Value> partition::findCrossing(const StepGraph &graph) {
  llvm::DenseSet<Value> read;
  for (auto [number, op] : llvm::enumerate(graph.getOps()))
    if (graph.isBackward(number))
      forEachInput(op, [&](Value value) { read.insert(value); });
  SmallVector<Value> crossing;
  for (auto [number, op] : llvm::enumerate(graph.getOps()))
    if (!graph.isBackward(number))
      for (Value value : op->getResults())
        if (read.contains(value))
          crossing.push_back(value);
  return crossing;
}

/// True if something uses the symbol. In the step itself, which is long and has
/// many attributes, only calls are searched.
static bool isCalled(func::FuncOp step) {
  for (Operation &op : *step->getBlock())
    if (&op != step && !SymbolTable::symbolKnownUseEmpty(step, &op))
      return true;
  return step
      .walk([&](CallOpInterface call) {
        return call.resolveCallable() == step ? WalkResult::interrupt()
                                              : WalkResult::advance();
      })
      .wasInterrupted();
}

static LogicalResult verify(func::FuncOp step, const StepGraph &graph) {
  for (auto func : step->getParentOfType<ModuleOp>().getOps<func::FuncOp>()) {
    if (func == step ||
        (func.getName() != kForwardName && func.getName() != kBackwardName))
      continue;
    InFlightDiagnostic diag = func.emitError()
                              << "name \"" << func.getName()
                              << "\" is that of a part of the partitioned step";
    diag.attachNote(step.getLoc()) << "the step is here";
    return diag;
  }
  if (isCalled(step))
    return step.emitError() << "step is called, so that it cannot be split";
  for (Operation *op : graph.getOps()) {
    if (graph.isBackward(op))
      continue;
    Operation *def = nullptr;
    forEachInput(op, [&](Value input) {
      Operation *other = input.getDefiningOp();
      if (other && other->getBlock() == &graph.getBlock() &&
          graph.isBackward(other))
        def = other;
    });
    if (!def)
      continue;
    InFlightDiagnostic diag =
        op->emitError() << "forward reads a value that backward computes, so "
                           "that the step cannot be split";
    diag.attachNote(def->getLoc()) << "the value is computed here";
    return diag;
  }
  return success();
}

namespace {
/// One of the two functions, while it is built.
class Part {
public:
  Part(func::FuncOp step, StringRef name, ArrayRef<Value> taken,
       ArrayRef<StringAttr> names);

  /// Moves `op` here.
  void add(Operation *op);
  /// Returns values of the step with these attributes.
  void finish(ArrayRef<Value> results, ArrayRef<DictionaryAttr> attributes);

private:
  func::FuncOp func;
  OpBuilder builder;
  /// Arguments of the part for values of the step that it does not compute.
  IRMapping mapping;
};
} // namespace

/// `tg.role = saved` and the name.
static DictionaryAttr getSavedAttributes(StringAttr name) {
  Builder builder(name.getContext());
  return builder.getDictionaryAttr(
      {builder.getNamedAttr(kNameAttrName, name),
       builder.getNamedAttr(kRoleAttrName, RoleAttr::get(builder.getContext(),
                                                         RoleKind::Saved))});
}

Part::Part(func::FuncOp step, StringRef name, ArrayRef<Value> taken,
           ArrayRef<StringAttr> names)
    : builder(step) {
  SmallVector<Type> types(step.getArgumentTypes());
  llvm::append_range(types, ValueRange(taken).getTypes());
  func = func::FuncOp::create(builder, step.getLoc(), name,
                              builder.getFunctionType(types, {}));
  func->setDiscardableAttrs(step->getDiscardableAttrDictionary());
  Block *block = func.addEntryBlock();
  unsigned numArguments = step.getNumArguments();
  SmallVector<DictionaryAttr> attributes;
  for (unsigned i = 0; i < numArguments; ++i) {
    attributes.push_back(step.getArgAttrDict(i));
    mapping.map(step.getArgument(i), block->getArgument(i));
  }
  for (auto [i, value] : llvm::enumerate(taken)) {
    attributes.push_back(getSavedAttributes(names[i]));
    mapping.map(value, block->getArgument(numArguments + i));
  }
  func.setAllArgAttrs(attributes);
  builder.setInsertionPointToEnd(block);
}

void Part::add(Operation *op) {
  op->walk([&](Operation *inner) {
    for (OpOperand &operand : inner->getOpOperands())
      if (Value mapped = mapping.lookupOrNull(operand.get()))
        operand.set(mapped);
  });
  op->moveBefore(builder.getInsertionBlock(), builder.getInsertionPoint());
}

void Part::finish(ArrayRef<Value> results,
                  ArrayRef<DictionaryAttr> attributes) {
  SmallVector<Value> mapped;
  for (Value value : results)
    mapped.push_back(mapping.lookupOrDefault(value));
  func.setFunctionType(builder.getFunctionType(func.getArgumentTypes(),
                                               ValueRange(mapped).getTypes()));
  func.setAllResultAttrs(attributes);
  func::ReturnOp::create(builder, func.getLoc(), mapped);
}

/// Names for the values that cross: `saved.ID`, or a number.
static SmallVector<StringAttr> nameSaved(ArrayRef<Value> values) {
  SmallVector<StringAttr> names;
  llvm::StringSet<> seen;
  for (auto [i, value] : llvm::enumerate(values)) {
    auto result = cast<OpResult>(value);
    auto id = result.getOwner()->getAttrOfType<StringAttr>(kIdAttrName);
    std::string name = "saved." + (id ? id.str() : std::to_string(i));
    if (result.getOwner()->getNumResults() > 1)
      name += "." + std::to_string(result.getResultNumber());
    // An id may occur twice, or be a number.
    while (!seen.insert(name).second)
      name += "." + std::to_string(i);
    names.push_back(StringAttr::get(value.getContext(), name));
  }
  return names;
}

/// The attributes of result `index`, which keeps the name that its number gave
/// it.
static DictionaryAttr getResultAttributes(func::FuncOp step, unsigned index) {
  NamedAttrList attributes(step.getResultAttrDict(index));
  Builder builder(step.getContext());
  if (!attributes.get(kNameAttrName) && !attributes.get(kRoleAttrName))
    attributes.set(kNameAttrName,
                   builder.getStringAttr("result" + Twine(index)));
  return attributes.getDictionary(step.getContext());
}

/// Only updates leave a function on the host.
static LogicalResult verifyPlaces(ArrayRef<Value> crossing) {
  for (Value value : crossing)
    if (isOnHost(value.getType()))
      return emitError(value.getLoc())
             << "a value on the host lives on from forward to backward, so "
                "that the step cannot be split";
  return success();
}

LogicalResult partition::splitStep(func::FuncOp step) {
  StepGraph graph(step.getBody().front());
  if (failed(verify(step, graph)))
    return failure();
  SmallVector<Value> crossing = findCrossing(graph);
  if (failed(verifyPlaces(crossing)))
    return failure();
  SmallVector<StringAttr> names = nameSaved(crossing);

  Part forward(step, kForwardName, {}, {}),
      backward(step, kBackwardName, crossing, names);
  for (Operation *op : graph.getOps())
    (graph.isBackward(op) ? backward : forward).add(op);
  SmallVector<Value> forwardResults, backwardResults;
  SmallVector<DictionaryAttr> forwardAttrs, backwardAttrs;
  Operation *terminator = step.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    Operation *def = value.getDefiningOp();
    bool isAfter = def && graph.isBackward(def);
    (isAfter ? backwardResults : forwardResults).push_back(value);
    (isAfter ? backwardAttrs : forwardAttrs)
        .push_back(getResultAttributes(step, i));
  }
  llvm::append_range(forwardResults, crossing);
  for (StringAttr name : names)
    forwardAttrs.push_back(getSavedAttributes(name));
  forward.finish(forwardResults, forwardAttrs);
  backward.finish(backwardResults, backwardAttrs);
  step.erase();
  return success();
}
