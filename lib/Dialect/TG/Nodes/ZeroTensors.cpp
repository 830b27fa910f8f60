//===- ZeroTensors.cpp - Tensors of zeros ---------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Nodes/ZeroTensors.h"

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Dialect/TG/Targets/NodeTargets.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace regather::tg;

static bool isZeroNumber(Attribute attr) {
  if (auto number = dyn_cast_or_null<FloatAttr>(attr))
    return number.getValue().isZero();
  auto number = dyn_cast_or_null<IntegerAttr>(attr);
  return number && number.getValue().isZero();
}

/// The number that a node fills its result with, or null.
static Attribute getFilling(NodeOp node) {
  std::optional<NodeTarget> target = findNodeTarget(node.getTarget());
  if (!target)
    return nullptr;
  size_t position = 0;
  switch (*target) {
  case NodeTarget::AtenZerosDefault:
  case NodeTarget::AtenZerosLikeDefault:
  case NodeTarget::AtenNewZerosDefault:
    return IntegerAttr::get(IntegerType::get(node.getContext(), 64), 0);
  case NodeTarget::AtenScalarTensorDefault:
    position = 0;
    break;
  case NodeTarget::AtenFullDefault:
  case NodeTarget::AtenFullLikeDefault:
    position = 1;
    break;
  case NodeTarget::AtenNewFullDefault:
    position = 2;
    break;
  default:
    return nullptr;
  }
  std::optional<ArrayAttr> args = node.getArgs();
  return args && position < args->size() ? (*args)[position] : Attribute();
}

bool regather::tg::isZero(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto node = dyn_cast<NodeOp>(op))
    return isZeroNumber(getFilling(node));
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    value = fill.getInputs()[0];
  Attribute constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return false;
  if (auto elements = dyn_cast<SplatElementsAttr>(constant))
    constant = elements.getSplatValue<Attribute>();
  return isZeroNumber(constant);
}
