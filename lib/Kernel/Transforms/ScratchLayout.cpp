//===- ScratchLayout.cpp - Scratch memory of a function -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/Transforms/ScratchLayout.h"

#include "regather/Dialect/TG/IR/KernelAttributes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace regather;

kernel::ScratchLayout kernel::getScratch(Operation *func) {
  ScratchLayout layout;
  if (auto bytes =
          func->getAttrOfType<IntegerAttr>(tg::kTileScratchBytesAttrName))
    layout.bytes = bytes.getInt();
  if (auto offsets = func->getAttrOfType<DenseI64ArrayAttr>(
          tg::kTileScratchOffsetsAttrName))
    layout.offsets.assign(offsets.asArrayRef().begin(),
                          offsets.asArrayRef().end());
  return layout;
}

void kernel::setScratch(Operation *func, const ScratchLayout &layout) {
  Builder b(func->getContext());
  func->setAttr(tg::kTileScratchBytesAttrName,
                b.getI64IntegerAttr(layout.bytes));
  func->setAttr(tg::kTileScratchOffsetsAttrName,
                b.getDenseI64ArrayAttr(layout.offsets));
}
