//===- TGHostOps.cpp - Copies between device and host ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TGFutureUses.h"

using namespace mlir;
using namespace regather::tg;

//===----------------------------------------------------------------------===//
// Where tensors lie
//===----------------------------------------------------------------------===//

bool regather::tg::isOnHost(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa_and_nonnull<HostAttr>(tensor.getEncoding());
}

RankedTensorType regather::tg::getHostType(RankedTensorType type) {
  return RankedTensorType::get(type.getShape(), type.getElementType(),
                               HostAttr::get(type.getContext()));
}

RankedTensorType regather::tg::getDeviceType(RankedTensorType type) {
  return RankedTensorType::get(type.getShape(), type.getElementType());
}

//===----------------------------------------------------------------------===//
// OffloadOp, FetchOp
//===----------------------------------------------------------------------===//

static LogicalResult verifyHostCopy(HostCopyOpInterface op) {
  ArrayRef<Type> members = op.getFuture().getType().getTensors();
  if (members.size() != op.getInputs().size())
    return op.emitOpError()
           << "expects a future of " << op.getInputs().size()
           << " tensors, one for each operand, got " << members.size();
  for (auto [i, input, member] : llvm::enumerate(op.getInputs(), members)) {
    auto type = cast<RankedTensorType>(input.getType());
    if (!type.hasStaticShape())
      return op.emitOpError()
             << "operand " << i << " must have a static shape, got " << type;
    if (!type.getElementType().isIntOrIndexOrFloat())
      return op.emitOpError()
             << "operand " << i
             << " must have integer or floating-point elements, got " << type;
    RankedTensorType expected =
        op.isToHost() ? getHostType(type) : getDeviceType(type);
    if (member != expected)
      return op.emitOpError() << "member " << i << " must have type "
                              << expected << ", got " << member;
  }
  return verifyFutureUses(op, op.getFuture());
}

LogicalResult OffloadOp::verify() { return verifyHostCopy(*this); }
LogicalResult FetchOp::verify() { return verifyHostCopy(*this); }
