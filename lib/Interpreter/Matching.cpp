//===- Matching.cpp - Whether ranks start the same collective -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// One operation always matches itself. Two operations, say in the branches of a
// condition on the rank, match if they say the same and, as far as the program
// shows, mean the same data.
//
//===----------------------------------------------------------------------===//

#include "RankThreads.h"

#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace regather;
using namespace regather::interp;

static std::string print(Attribute attr) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (attr)
    os << attr;
  else
    os << "absent";
  return text;
}

static std::string print(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

static std::string print(Value value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  value.printAsOperand(os, OpPrintingFlags());
  return text;
}

/// The value whose data `value` carries: looks through operations that take one
/// tensor (casts, views), and through waits to what was sent.
static Value getRoot(Value value) {
  while (true) {
    Operation *def = value.getDefiningOp();
    if (!def || def->getNumRegions() != 0)
      return value;
    if (auto wait = dyn_cast<tg::WaitOp>(def)) {
      auto sent = wait.getFuture().getDefiningOp<tg::CollectiveOpInterface>();
      if (!sent)
        return value;
      value = sent.getInputs()[cast<OpResult>(value).getResultNumber()];
      continue;
    }
    Value source;
    for (Value operand : def->getOperands()) {
      if (!isa<RankedTensorType>(operand.getType()))
        continue;
      if (source)
        return value;
      source = operand;
    }
    if (!source)
      return value;
    value = source;
  }
}

/// True if both operations lie in the region that defines `value`.
static bool isVisibleToBoth(Value value, Operation *a, Operation *b) {
  Region *region = value.getParentRegion();
  return region->isAncestor(a->getParentRegion()) &&
         region->isAncestor(b->getParentRegion());
}

/// Attributes that say where an operation comes from contradict each other only
/// if both operations have them.
static bool isOrigin(StringRef name) {
  return name == tg::kIdAttrName || name == tg::kModuleAttrName ||
         name == tg::kNameAttrName;
}

static std::optional<std::string>
findDifferentAttribute(Operation *op, Operation *other,
                       const std::string &onOther) {
  DictionaryAttr attrs = op->getAttrDictionary();
  DictionaryAttr otherAttrs = other->getAttrDictionary();
  llvm::SmallSetVector<StringAttr, 16> names;
  for (DictionaryAttr dictionary : {attrs, otherAttrs})
    for (NamedAttribute attr : dictionary)
      names.insert(attr.getName());
  for (StringAttr name : names) {
    Attribute here = attrs.get(name), there = otherAttrs.get(name);
    if (here == there || (isOrigin(name) && (!here || !there)))
      continue;
    return "'" + name.str() + "' is " + print(here) + " here, but " +
           print(there) + onOther;
  }
  return std::nullopt;
}

static std::optional<std::string>
findDifferentOperand(Operation *op, Operation *other,
                     const std::string &onOther) {
  for (unsigned i = 0, e = op->getNumOperands(); i != e; ++i) {
    Value here = getRoot(op->getOperand(i));
    Value there = getRoot(other->getOperand(i));
    if (here != there && isVisibleToBoth(here, op, other) &&
        isVisibleToBoth(there, op, other))
      return "operand " + std::to_string(i) + " carries '" + print(here) +
             "' here, but '" + print(there) + "'" + onOther;
  }
  return std::nullopt;
}

std::optional<std::string> regather::interp::findDifference(Operation *op,
                                                            Operation *other,
                                                            int64_t otherRank) {
  if (op == other)
    return std::nullopt;
  std::string onOther = " on rank " + std::to_string(otherRank);
  if (op->getName() != other->getName())
    return "starts '" + op->getName().getStringRef().str() + "' here, but '" +
           other->getName().getStringRef().str() + "'" + onOther;
  if (auto difference = findDifferentAttribute(op, other, onOther))
    return difference;
  if (op->getNumOperands() != other->getNumOperands())
    return "has " + std::to_string(op->getNumOperands()) +
           " operands here, but " + std::to_string(other->getNumOperands()) +
           onOther;
  for (unsigned i = 0, e = op->getNumOperands(); i != e; ++i) {
    Type here = op->getOperand(i).getType(),
         there = other->getOperand(i).getType();
    if (here != there)
      return "operand " + std::to_string(i) + " has type '" + print(here) +
             "' here, but '" + print(there) + "'" + onOther;
  }
  Type here = op->getResult(0).getType(), there = other->getResult(0).getType();
  if (here != there)
    return "gives '" + print(here) + "' here, but '" + print(there) + "'" +
           onOther;
  return findDifferentOperand(op, other, onOther);
}
