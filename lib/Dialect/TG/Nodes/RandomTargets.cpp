//===- RandomTargets.cpp - Nodes that draw random numbers -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Nodes/RandomTargets.h"

#include "regather/Dialect/TG/Targets/NodeTargets.h"

using namespace mlir;
using namespace regather;
using tg::RandomDraw;

/// By operator: overloads differ in how they name shape and distribution.
static RandomDraw getDraw(StringRef target) {
  std::optional<tg::NodeOperator> op = tg::findNodeOperator(target);
  return op ? tg::getInfo(*op).draw : RandomDraw::Nothing;
}

bool regather::nodes::isRandomTarget(StringRef target) {
  return getDraw(target) != RandomDraw::Nothing;
}

RankedTensorType regather::nodes::getBitsType(StringRef target,
                                              RankedTensorType result) {
  MLIRContext *context = result.getContext();
  unsigned width = 0;
  switch (getDraw(target)) {
  case RandomDraw::Nothing:
  case RandomDraw::Undefined:
    return nullptr;
  case RandomDraw::Word:
    width = 32;
    break;
  case RandomDraw::Long:
    width = 64;
    break;
  case RandomDraw::Significand:
    width = result.getElementType().isF64() ? 64 : 32;
    break;
  }
  return RankedTensorType::get(result.getShape(),
                               IntegerType::get(context, width));
}
