//===- FunctionBoundary.h - Arguments and results alike ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_CONVERSION_SHARDTOTG_FUNCTIONBOUNDARY_H
#define REGATHER_LIB_CONVERSION_SHARDTOTG_FUNCTIONBOUNDARY_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace regather::shardtotg {

/// One argument or result of a function.
struct BoundaryValue {
  mlir::FunctionOpInterface func;
  bool isResult;
  unsigned index;

  std::string getName() const {
    return (isResult ? "result " : "argument ") + std::to_string(index);
  }
  mlir::Type getType() {
    return isResult ? func.getResultTypes()[index]
                    : func.getArgumentTypes()[index];
  }
  mlir::Attribute getAttr(mlir::StringRef name) {
    return isResult ? func.getResultAttr(index, name)
                    : func.getArgAttr(index, name);
  }
};

} // namespace regather::shardtotg

#endif // REGATHER_LIB_CONVERSION_SHARDTOTG_FUNCTIONBOUNDARY_H
