//===- BackwardCopies.cpp - Compute forward values once more --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardCopies.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace regather::tg;

/// Adds to a predicate that a copy between the device and its host moves a
/// value once: what waits for it has no copy.
static std::function<bool(Value)>
withoutMoves(std::function<bool(Value)> isCopied) {
  return [isCopied = std::move(isCopied)](Value value) {
    auto wait = value.getDefiningOp<WaitOp>();
    bool isMoved =
        wait && !wait.getFuture().getDefiningOp<CollectiveOpInterface>();
    return !isMoved && isCopied(value);
  };
}

BackwardCopies::BackwardCopies(const StepGraph &graph,
                               std::function<bool(Value)> copiedForBackward,
                               std::function<bool(Value)> copiedForCopies)
    : graph(graph),
      copiedForBackward(withoutMoves(std::move(copiedForBackward))),
      copiedForCopies(withoutMoves(std::move(copiedForCopies))) {}

//===----------------------------------------------------------------------===//
// What is needed
//===----------------------------------------------------------------------===//

SmallVector<unsigned>
BackwardCopies::getCopiedMembers(CollectiveOpInterface op) const {
  SmallVector<unsigned> members;
  if (WaitOp wait = getWait(op))
    for (auto [i, tensor] : llvm::enumerate(wait.getTensors()))
      if (needed.contains(tensor))
        members.push_back(i);
  return members;
}

/// The values that a copy of `op` reads. A collective is copied with its wait,
/// and only for the members that somebody needs.
void BackwardCopies::findInputs(Operation *op,
                                function_ref<void(Value)> visit) const {
  auto wait = dyn_cast<WaitOp>(op);
  if (!wait)
    return forEachInput(op, visit);
  auto collective = wait.getFuture().getDefiningOp<CollectiveOpInterface>();
  for (unsigned member : getCopiedMembers(collective))
    visit(collective.getInputs()[member]);
}

void BackwardCopies::findNeeded() {
  SmallVector<Value> worklist;
  auto add = [&](Value value) {
    if (needed.insert(value).second)
      worklist.push_back(value);
  };
  for (auto [number, op] : llvm::enumerate(graph.getOps()))
    if (graph.isBackward(number))
      forEachInput(op, [&](Value value) {
        if (graph.isForwardValue(value) && copiedForBackward(value))
          add(value);
      });
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    auto visit = [&](Value input) {
      if (graph.isForwardValue(input) && copiedForCopies(input))
        add(input);
    };
    auto wait = value.getDefiningOp<WaitOp>();
    if (!wait) {
      forEachInput(value.getDefiningOp(), visit);
      continue;
    }
    auto collective = wait.getFuture().getDefiningOp<CollectiveOpInterface>();
    visit(collective.getInputs()[cast<OpResult>(value).getResultNumber()]);
  }
}

//===----------------------------------------------------------------------===//
// Copying
//===----------------------------------------------------------------------===//

Operation *BackwardCopies::copyCollective(CollectiveOpInterface op,
                                          OpBuilder &builder) {
  SmallVector<Value> inputs;
  SmallVector<Type> types;
  for (unsigned member : getCopiedMembers(op)) {
    inputs.push_back(mapping.lookupOrDefault(op.getInputs()[member]));
    types.push_back(op.getFuture().getType().getTensors()[member]);
  }
  NamedAttrList attributes(op->getAttrDictionary());
  attributes.set("phase",
                 PhaseAttr::get(builder.getContext(), Phase::Backward));
  attributes.set("generation",
                 builder.getI64IntegerAttr(op.getGeneration().value_or(0) + 1));
  attributes.erase(kPolicyAttrName);
  attributes.erase(kPhaseAttrName);
  OperationState state(op.getLoc(), op->getName().getStringRef(), inputs,
                       FutureType::get(builder.getContext(), types),
                       attributes);
  return builder.create(state);
}

/// Marks a copy, and removes what was to be decided about the original.
static void markCopy(Operation *copy) {
  copy->setAttr(kPhaseAttrName,
                PhaseAttr::get(copy->getContext(), Phase::Backward));
  copy->removeAttr(kPolicyAttrName);
  copy->removeAttr(kSavedResultsAttrName);
}

void BackwardCopies::copyWait(WaitOp wait, OpBuilder &builder) {
  auto collective = wait.getFuture().getDefiningOp<CollectiveOpInterface>();
  Operation *start = copyCollective(collective, builder);
  auto arrival = WaitOp::create(builder, wait.getLoc(), start->getResult(0));
  arrival->setDiscardableAttrs(wait->getDiscardableAttrDictionary());
  markCopy(arrival);
  for (auto [tensor, member] :
       llvm::zip(arrival.getTensors(), getCopiedMembers(collective)))
    mapping.map(wait.getTensors()[member], tensor);
  copies.emplace_back(collective, start);
  copies.emplace_back(wait, arrival);
}

void BackwardCopies::copy(Operation *op, OpBuilder &builder) {
  if (auto wait = dyn_cast<WaitOp>(op))
    return copyWait(wait, builder);
  Operation *copied = builder.clone(*op, mapping);
  markCopy(copied);
  copies.emplace_back(op, copied);
}

void BackwardCopies::materialize(Value value, Operation *before) {
  OpBuilder builder(before);
  SmallVector<Operation *> stack = {value.getDefiningOp()};
  while (!stack.empty()) {
    Operation *op = stack.back();
    SmallVector<Operation *> missing;
    findInputs(op, [&](Value input) {
      if (needed.contains(input) && !mapping.contains(input) &&
          copiedForCopies(input))
        missing.push_back(input.getDefiningOp());
    });
    if (!missing.empty()) {
      llvm::append_range(stack, llvm::reverse(missing));
      continue;
    }
    stack.pop_back();
    // An operation can be on the stack twice; when it is seen again, it has
    // been copied.
    bool isDone = llvm::any_of(op->getResults(), [&](Value result) {
      return mapping.contains(result);
    });
    if (!isDone)
      copy(op, builder);
  }
}

void BackwardCopies::run() {
  findNeeded();
  if (needed.empty())
    return;
  for (Operation *op : graph.getOps()) {
    if (!graph.isBackward(op))
      continue;
    op->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands()) {
        Value value = operand.get();
        if (!graph.isForwardValue(value) || !copiedForBackward(value))
          continue;
        if (!mapping.contains(value))
          materialize(value, op);
        operand.set(mapping.lookup(value));
      }
    });
  }
}

void BackwardCopies::eraseDeadOriginals() {
  IRRewriter rewriter(graph.getBlock().getParent()->getContext());
  // Users come after what they use, and so do their copies.
  llvm::SmallSetVector<Operation *, 16> originals;
  for (auto [original, copied] : copies)
    originals.insert(original);
  SmallVector<Operation *> ordered = originals.takeVector();
  llvm::sort(ordered, [&](Operation *lhs, Operation *rhs) {
    return graph.getNumber(lhs) > graph.getNumber(rhs);
  });
  llvm::DenseSet<Operation *> erased;
  for (Operation *op : ordered) {
    if (isOpTriviallyDead(op)) {
      erased.insert(op);
      rewriter.eraseOp(op);
      continue;
    }
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    WaitOp wait = collective ? getWait(collective) : nullptr;
    if (!wait)
      continue;
    SmallVector<unsigned> kept;
    for (auto [i, tensor] : llvm::enumerate(wait.getTensors()))
      if (!tensor.use_empty() || !needed.contains(tensor))
        kept.push_back(i);
    if (kept.size() < collective.getInputs().size()) {
      erased.insert(collective);
      erased.insert(wait);
      keepMembers(collective, kept, rewriter);
    }
  }
  llvm::erase_if(copies,
                 [&](const auto &pair) { return erased.contains(pair.first); });
}
