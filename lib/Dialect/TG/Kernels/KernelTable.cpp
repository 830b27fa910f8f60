//===- KernelTable.cpp - Kernels by what they compute ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Kernels/KernelTable.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace regather::tg;

/// Equal for equal kernels. Depends on addresses, so that nothing may depend on
/// it but the speed of the search.
static size_t getHash(KernelOp kernel) {
  llvm::hash_code hash =
      llvm::hash_combine(kernel.getFunctionType(), kernel.getArgAttrsAttr(),
                         kernel.getResAttrsAttr(), kernel.getLibraryCallAttr(),
                         kernel->getDiscardableAttrDictionary());
  for (Operation &op : kernel.getBody().front())
    hash =
        llvm::hash_combine(hash, OperationEquivalence::computeHash(
                                     &op, OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::IgnoreLocations));
  return hash;
}

static bool areEqual(KernelOp a, KernelOp b) {
  return a.getFunctionType() == b.getFunctionType() &&
         a.getArgAttrsAttr() == b.getArgAttrsAttr() &&
         a.getResAttrsAttr() == b.getResAttrsAttr() &&
         a.getLibraryCallAttr() == b.getLibraryCallAttr() &&
         a->getDiscardableAttrDictionary() ==
             b->getDiscardableAttrDictionary() &&
         OperationEquivalence::isRegionEquivalentTo(
             &a.getBody(), &b.getBody(), OperationEquivalence::IgnoreLocations);
}

KernelTable::KernelTable(ModuleOp module) {
  for (auto symbol : module.getOps<SymbolOpInterface>())
    names.insert(symbol.getName());
  for (auto kernel : module.getOps<KernelOp>())
    kernels[getHash(kernel)].push_back(kernel);
}

/// The first few operations that compute something, and a number.
std::string KernelTable::makeName(ArrayRef<Operation *> members) {
  constexpr size_t maxOperators = 3;
  SmallVector<std::string> parts;
  for (Operation *op : members)
    if (parts.size() < maxOperators && !getOpCost(op).view)
      parts.push_back(getShortName(op));
  // A kernel may be a view that moves elements.
  if (parts.empty())
    parts.push_back(getShortName(members.front()));
  std::string stem = llvm::join(parts, "_");
  int64_t number = numInserted;
  std::string name;
  do
    name = stem + "_" + std::to_string(number++);
  while (!names.insert(name).second);
  return name;
}

KernelOp KernelTable::findOrInsert(OwningOpRef<KernelOp> kernel,
                                   ArrayRef<Operation *> members) {
  SmallVector<KernelOp, 1> &known = kernels[getHash(*kernel)];
  for (KernelOp other : known)
    if (areEqual(other, *kernel))
      return other;
  kernel->setSymName(makeName(members));
  ++numInserted;
  KernelOp inserted = kernel.release();
  insertionPoint->getBlock()->getOperations().insert(
      insertionPoint->getIterator(), inserted);
  known.push_back(inserted);
  return inserted;
}

std::string regather::tg::getShortName(Operation *op) {
  StringRef name = op->getName().stripDialect();
  if (auto node = dyn_cast<NodeOp>(op)) {
    name = node.getTarget();
    if (name.count('.') == 2)
      name = name.split('.').second;
    name = name.split('.').first;
  }
  std::string text;
  for (char c : name.trim('_'))
    text += llvm::isAlnum(c) ? c : '_';
  return text;
}

void regather::tg::dropOrigins(KernelOp kernel) {
  kernel.getBody().walk([](Operation *op) {
    SmallVector<StringAttr> names;
    for (NamedAttribute attr : op->getDiscardableAttrs())
      if (isa_and_nonnull<TGDialect>(attr.getNameDialect()))
        names.push_back(attr.getName());
    for (StringAttr name : names)
      op->removeDiscardableAttr(name);
  });
}
