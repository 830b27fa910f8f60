//===- KernelText.cpp - What decides the code of a kernel -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/Compilation/KernelText.h"

#include "mlir/IR/OwningOpRef.h"

using namespace mlir;
using namespace regather;

std::string kernel::getText(tg::KernelOp kernel) {
  tg::KernelOp copy = kernel.clone();
  OwningOpRef<tg::KernelOp> owner(copy);
  copy.setSymName("kernel");
  // Decisions on the graph do not change what a kernel computes.
  copy->setDiscardableAttrs(DictionaryAttr::get(copy.getContext()));
  copy->walk([&](Operation *inner) {
    SmallVector<StringAttr> names;
    for (NamedAttribute attr : inner->getDiscardableAttrs())
      if (attr.getName().getValue().starts_with("tg."))
        names.push_back(attr.getName());
    for (StringAttr name : names)
      inner->removeDiscardableAttr(name);
  });
  std::string text;
  llvm::raw_string_ostream stream(text);
  copy.print(stream, OpPrintingFlags().printGenericOpForm().useLocalScope());
  return text;
}
