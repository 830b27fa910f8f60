//===- TGFutureUses.cpp - Futures are linear ------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TGFutureUses.h"

using namespace mlir;
using namespace regather::tg;

WaitOp regather::tg::getFutureWait(TypedValue<FutureType> future) {
  if (future.use_empty())
    return nullptr;
  return cast<WaitOp>(*future.getUsers().begin());
}

LogicalResult regather::tg::verifyFutureUses(Operation *op,
                                             TypedValue<FutureType> future) {
  Operation *firstWait = nullptr;
  for (OpOperand &use : future.getUses()) {
    Operation *user = use.getOwner();
    if (!isa<WaitOp>(user)) {
      InFlightDiagnostic diag =
          op->emitOpError() << "future may only be used by 'tg.wait', but it "
                               "escapes into '"
                            << user->getName() << "'";
      diag.attachNote(user->getLoc()) << "used here";
      return diag;
    }
    if (user->getBlock() != op->getBlock()) {
      InFlightDiagnostic diag =
          op->emitOpError() << "future must be waited for in the block that "
                               "starts it";
      diag.attachNote(user->getLoc()) << "waited for here";
      return diag;
    }
    if (firstWait) {
      // Uses are listed last first.
      InFlightDiagnostic diag = op->emitOpError()
                                << "future is waited for twice";
      diag.attachNote(user->getLoc()) << "waited for here";
      diag.attachNote(firstWait->getLoc()) << "and here";
      return diag;
    }
    firstWait = user;
  }
  return success();
}
