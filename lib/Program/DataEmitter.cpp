//===- DataEmitter.cpp - Tables as constant data --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DataEmitter.h"

using namespace regather;
using llvm::ArrayRef;
using llvm::StringRef;

llvm::GlobalVariable *
DataEmitter::addGlobal(StringRef bytes,
                       ArrayRef<std::pair<size_t, llvm::Constant *>> pointers,
                       const llvm::Twine &name) {
  std::vector<llvm::Constant *> parts;
  size_t position = 0;
  auto addBytes = [&](size_t end) {
    if (end > position)
      parts.push_back(llvm::ConstantDataArray::getString(
          context, bytes.slice(position, end), /*AddNull=*/false));
  };
  for (auto [offset, value] : pointers) {
    addBytes(offset);
    parts.push_back(value);
    position = offset + sizeof(void *);
  }
  addBytes(bytes.size());
  llvm::Constant *contents =
      llvm::ConstantStruct::getAnon(context, parts, /*Packed=*/true);
  auto *global = new llvm::GlobalVariable(
      module, contents->getType(), /*isConstant=*/true,
      llvm::GlobalValue::PrivateLinkage, contents, name);
  global->setAlignment(llvm::Align(64));
  return global;
}

llvm::Constant *DataEmitter::addShared(StringRef bytes) {
  llvm::Constant *&constant = shared[bytes];
  if (!constant) {
    llvm::GlobalVariable *global = addGlobal(bytes, {}, "data");
    global->setAlignment(llvm::Align(8));
    constant = global;
  }
  return constant;
}

void DataEmitter::setName(llvm::GlobalVariable *global, StringRef name) {
  global->setName(name);
  global->setLinkage(llvm::GlobalValue::ExternalLinkage);
}
