//===- Duplicates.cpp - Merge what is computed twice ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Duplicates.h"

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Dialect/TG/Nodes/RandomTargets.h"
#include "regather/Dialect/TG/Targets/NodeTargets.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::partition;

namespace {
/// A call, with everything that it computes from besides its operands.
struct Call {
  Operation *op = nullptr;
  Attribute arguments;
  /// The same with what Python's hash takes for equal. PyTorch keeps one call
  /// for each hash; later ones with equal hash but other arguments are merged
  /// with nothing.
  Attribute hashed;
};

struct CallInfo {
  static Call getEmptyKey() {
    return {llvm::DenseMapInfo<Operation *>::getEmptyKey(), {}, {}};
  }
  static Call getTombstoneKey() {
    return {llvm::DenseMapInfo<Operation *>::getTombstoneKey(), {}, {}};
  }
  static unsigned getHashValue(const Call &call) {
    return llvm::hash_combine(call.op->getName(), call.hashed,
                              llvm::hash_combine_range(call.op->operand_begin(),
                                                       call.op->operand_end()));
  }
  static bool isEqual(const Call &lhs, const Call &rhs) {
    if (lhs.op == rhs.op)
      return true;
    if (isSentinel(lhs) || isSentinel(rhs))
      return false;
    return lhs.op->getName() == rhs.op->getName() && lhs.hashed == rhs.hashed &&
           lhs.op->getOperands() == rhs.op->getOperands();
  }

private:
  static bool isSentinel(const Call &call) {
    return call.op == getEmptyKey().op || call.op == getTombstoneKey().op;
  }
};
} // namespace

/// In Python, -1 and -2 hash alike.
static Attribute hashLikePython(Attribute attr) {
  if (auto array = dyn_cast<ArrayAttr>(attr))
    return ArrayAttr::get(attr.getContext(),
                          llvm::map_to_vector(array, hashLikePython));
  if (auto dictionary = dyn_cast<DictionaryAttr>(attr))
    return DictionaryAttr::get(
        attr.getContext(),
        llvm::map_to_vector(dictionary, [](NamedAttribute named) {
          return NamedAttribute(named.getName(),
                                hashLikePython(named.getValue()));
        }));
  if (auto number = dyn_cast<IntegerAttr>(attr);
      number && number.getValue().isAllOnes() &&
      number.getValue().getBitWidth() > 1)
    return IntegerAttr::get(number.getType(), -2);
  if (auto number = dyn_cast<FloatAttr>(attr);
      number && number.getValueAsDouble() == -1)
    return FloatAttr::get(number.getType(), -2);
  return attr;
}

/// The arguments of a call that can be merged; null for other operations.
static Attribute getArguments(Operation *op) {
  MLIRContext *context = op->getContext();
  auto orUnit = [&](Attribute attr) {
    return attr ? attr : UnitAttr::get(context);
  };
  if (auto node = dyn_cast<NodeOp>(op)) {
    if (node.getEffects() || nodes::isRandomTarget(node.getTarget()) ||
        findNodeOperator(node.getTarget()) == NodeOperator::AtenEmpty)
      return nullptr;
    return ArrayAttr::get(context,
                          {node.getTargetAttr(), orUnit(node.getArgsAttr()),
                           orUnit(node.getKwargsAttr())});
  }
  if (!isa<CollectiveOpInterface>(op))
    return nullptr;
  NamedAttrList attributes(op->getAttrDictionary());
  for (NamedAttribute discardable : op->getDiscardableAttrs())
    attributes.erase(discardable.getName());
  attributes.erase("phase");
  attributes.erase("generation");
  return attributes.getDictionary(context);
}

/// The values that share memory with a result of `step`.
static llvm::DenseSet<Value> findReturnedMemory(func::FuncOp step) {
  llvm::DenseMap<Value, Value> owners;
  auto getOwner = [&](Value value) {
    auto it = owners.find(value);
    return it == owners.end() ? value : it->second;
  };
  Block &block = step.getBody().front();
  for (Operation &op : block)
    if (isa<NodeOp>(op) && op.getNumOperands() > 0 && getOpCost(&op).view)
      for (Value result : op.getResults())
        owners[result] = getOwner(op.getOperand(0));
  llvm::DenseSet<Value> returned;
  for (Value value : block.getTerminator()->getOperands())
    returned.insert(getOwner(value));
  for (auto [value, owner] : owners)
    if (returned.contains(owner))
      returned.insert(value);
  return returned;
}

/// Lets `op` stand for `duplicate`, and adds what is dead then to `dead`. A
/// collective brings its wait along, unless that comes too late.
static void replaceDuplicate(Operation *op, Operation *duplicate,
                             SmallVectorImpl<Operation *> &dead) {
  auto collective = dyn_cast<CollectiveOpInterface>(duplicate);
  if (!collective) {
    duplicate->replaceAllUsesWith(op->getResults());
    dead.push_back(duplicate);
    return;
  }
  WaitOp wait = getWait(cast<CollectiveOpInterface>(op)),
         other = getWait(collective);
  if (!wait || !other || !wait->isBeforeInBlock(other))
    return;
  other->replaceAllUsesWith(wait->getResults());
  dead.push_back(duplicate);
  dead.push_back(other);
}

void partition::mergeDuplicates(func::FuncOp step) {
  llvm::DenseSet<Value> returned = findReturnedMemory(step);
  llvm::DenseSet<Call, CallInfo> calls;
  SmallVector<Operation *> dead;
  for (Operation &op : step.getBody().front().without_terminator()) {
    Attribute arguments = getArguments(&op);
    if (!arguments || llvm::any_of(op.getResults(), [&](Value value) {
          return returned.contains(value);
        }))
      continue;
    auto [it, isNew] =
        calls.insert({&op, arguments, hashLikePython(arguments)});
    if (!isNew && it->arguments == arguments &&
        it->op->getResultTypes() == op.getResultTypes())
      replaceDuplicate(it->op, &op, dead);
  }
  for (Operation *op : llvm::reverse(dead))
    op->erase();
}
