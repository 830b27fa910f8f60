//===- KernelTable.cpp - The kernels of one module ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTable.h"

#include "KernelCandidates.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::kernels;

KernelTable::KernelTable(ModuleOp module) {
  for (auto symbol : module.getOps<SymbolOpInterface>())
    names.insert(symbol.getName());
}

/// Equal for equal kernels. Depends on addresses, so that nothing may depend on
/// it but the speed of the search.
static size_t getHash(KernelOp kernel) {
  llvm::hash_code hash = llvm::hash_combine(
      kernel.getFunctionType(), kernel.getArgAttrsAttr(),
      kernel.getResAttrsAttr(), kernel->getAttr(kLibraryAttrName));
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
         a->getAttr(kLibraryAttrName) == b->getAttr(kLibraryAttrName) &&
         OperationEquivalence::isRegionEquivalentTo(
             &a.getBody(), &b.getBody(), OperationEquivalence::IgnoreLocations);
}

/// The first few operations that compute something, and a number.
std::string KernelTable::makeName(ArrayRef<Operation *> members) {
  constexpr size_t maxOperators = 3;
  SmallVector<std::string> parts;
  for (Operation *op : members)
    if (parts.size() < maxOperators && !isView(op))
      parts.push_back(getShortName(op));
  std::string stem = llvm::join(parts, "_");
  int64_t number = numKernels;
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
  ++numKernels;
  KernelOp inserted = kernel.release();
  insertionPoint->getBlock()->getOperations().insert(
      insertionPoint->getIterator(), inserted);
  known.push_back(inserted);
  return inserted;
}

void kernels::dropOrigin(Operation *op) {
  SmallVector<StringAttr> names;
  for (NamedAttribute attr : op->getDiscardableAttrs())
    if (attr.getNameDialect() && isa<TGDialect>(attr.getNameDialect()))
      names.push_back(attr.getName());
  for (StringAttr name : names)
    op->removeDiscardableAttr(name);
}
