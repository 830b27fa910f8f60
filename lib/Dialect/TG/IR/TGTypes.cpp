//===- TGTypes.cpp - Types of the tg dialect ------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace regather::tg;

#define GET_TYPEDEF_CLASSES
#include "regather/Dialect/TG/IR/TGTypes.cpp.inc"

LogicalResult
FutureType::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                   ArrayRef<Type> tensors) {
  for (auto [index, type] : llvm::enumerate(tensors)) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return emitError() << "member " << index
                         << " of a future must be a ranked tensor, got "
                         << type;
    if (!tensor.hasStaticShape())
      return emitError() << "member " << index
                         << " of a future must have a static shape, got "
                         << type;
  }
  return success();
}

void TGDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "regather/Dialect/TG/IR/TGTypes.cpp.inc"
      >();
}
