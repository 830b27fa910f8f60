//===- UnsupportedOps.cpp - What cannot be part of a program --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UnsupportedOps.h"

#include "regather/Dialect/Exec/IR/Exec.h"

using namespace mlir;
using namespace regather;

MemRefType regather::getBufferType(Type type) {
  MemRefType buffer;
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    if (tensor.hasStaticShape() && !tensor.getEncoding())
      buffer = MemRefType::get(tensor.getShape(), tensor.getElementType());
  } else if (type.isIntOrIndexOrFloat()) {
    buffer = MemRefType::get({}, type);
  }
  if (!buffer || !exec::isBuffer(buffer))
    return nullptr;
  Type element = buffer.getElementType();
  bool isKnown = element.isIndex() || element.isF32() || element.isF64() ||
                 element.isBF16() || element.isF16();
  for (unsigned width : {1, 8, 16, 32, 64})
    isKnown |= element.isSignlessInteger(width);
  return isKnown ? buffer : nullptr;
}

MemRefType regather::getPlacedBufferType(Type type) {
  if (!tg::isOnHost(type))
    return getBufferType(type);
  MemRefType buffer =
      getBufferType(tg::getDeviceType(cast<RankedTensorType>(type)));
  return buffer ? MemRefType::get(buffer.getShape(), buffer.getElementType(),
                                  MemRefLayoutAttrInterface(),
                                  tg::HostAttr::get(type.getContext()))
                : nullptr;
}

void UnsupportedOps::add(const Twine &what, Location loc) {
  ++found.try_emplace(what.str(), loc, 0).first->second.second;
}

void UnsupportedOps::addOp(Operation *op) {
  std::string name = "'" + op->getName().getStringRef().str() + "'";
  if (auto node = dyn_cast<tg::NodeOp>(op)) {
    name += " \"" + node.getTarget().str() + "\"";
    if (node.getEffects())
      name += ", which is called for its effects";
  } else if (auto call = dyn_cast<func::CallOp>(op)) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        call, call.getCalleeAttr());
    name += " of \"" + call.getCallee().str() + "\", which " +
            (callee && callee.isExternal() ? "has no body" : "was not inlined");
  } else if (op->getNumRegions() > 0) {
    name += " around operations that a kernel cannot hold";
  }
  add(name, op->getLoc());
}

void UnsupportedOps::checkType(Value value) {
  Type type = value.getType();
  // What enters on the host or has been copied there has a buffer there, and so
  // have its parts and what it is a part of.
  Operation *def = value.getDefiningOp();
  if (!def || isa<tg::WaitOp, tg::FlattenOp, tg::UnflattenOp>(def)
          ? getPlacedBufferType(type)
          : getBufferType(type))
    return;
  if (!state)
    state.emplace(func);
  std::string text = "value '";
  llvm::raw_string_ostream stream(text);
  value.printAsOperand(stream, *state);
  stream << "' of type " << value.getType();
  auto shaped = dyn_cast<ShapedType>(value.getType());
  if (shaped && shaped.hasRank() && !shaped.hasStaticShape())
    stream << ", whose dimension "
           << llvm::find_if(shaped.getShape(), ShapedType::isDynamic) -
                  shaped.getShape().begin()
           << " is dynamic";
  add(text, value.getLoc());
}

LogicalResult UnsupportedOps::report() {
  for (auto &[what, where] : found)
    emitError(where.first) << "a program cannot hold " << what << " ("
                           << where.second
                           << (where.second == 1 ? " use)" : " uses)");
  return failure(!found.empty());
}
