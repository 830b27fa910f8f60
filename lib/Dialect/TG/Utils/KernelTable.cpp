//===- KernelTable.cpp - Kernels by what they compute ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Utils/KernelTable.h"

using namespace mlir;
using namespace regather::tg;

/// Equal for equal kernels. Depends on addresses, so that nothing may depend on
/// it but the speed of the search.
static size_t getHash(KernelOp kernel) {
  llvm::hash_code hash =
      llvm::hash_combine(kernel.getFunctionType(), kernel.getArgAttrsAttr(),
                         kernel.getResAttrsAttr());
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

KernelOp KernelTable::findOrInsert(OwningOpRef<KernelOp> kernel,
                                   const Twine &stem, Operation *before) {
  SmallVector<KernelOp, 1> &known = kernels[getHash(*kernel)];
  for (KernelOp other : known)
    if (areEqual(other, *kernel))
      return other;
  std::string name;
  int64_t number = numInserted++;
  do
    name = (stem + "_" + Twine(number++)).str();
  while (!names.insert(name).second);
  kernel->setSymName(name);
  KernelOp inserted = kernel.release();
  before->getBlock()->getOperations().insert(before->getIterator(), inserted);
  known.push_back(inserted);
  return inserted;
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
