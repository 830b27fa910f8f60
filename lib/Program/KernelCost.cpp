//===- KernelCost.cpp - What kernels cost ---------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelCost.h"

using namespace mlir;
using namespace regather;

/// An embedding reads rows of its table: no more of an argument than all that
/// read it. What reads a view may read all of it.
static int64_t getReadBytes(BlockArgument argument) {
  int64_t whole = tg::getTensorBytes(argument.getType());
  int64_t sum = 0;
  for (Operation *user : argument.getUsers()) {
    tg::OpCost cost = tg::getOpCost(user);
    if (cost.view || user->hasTrait<OpTrait::IsTerminator>())
      return whole;
    sum += cost.readBytes;
    if (sum >= whole)
      return whole;
  }
  return sum;
}

tg::OpCost regather::getKernelCost(tg::KernelOp kernel) {
  tg::OpCost cost;
  for (Operation &op : kernel.getBody().front().without_terminator())
    cost.flops += tg::getOpCost(&op).flops;
  if (auto attention =
          dyn_cast_or_null<tg::AttentionAttr>(kernel.getLibraryCallAttr());
      attention && attention.getCausal())
    cost.flops /= 2;
  for (BlockArgument argument : kernel.getBody().getArguments())
    cost.readBytes += getReadBytes(argument);
  cost.writtenBytes = tg::getTensorBytes(kernel.getResultTypes());
  return cost;
}
