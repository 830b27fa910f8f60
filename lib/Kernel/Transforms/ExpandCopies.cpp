//===- ExpandCopies.cpp - Copies of buffers as loops ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace regather;

namespace regather::kernel {
#define GEN_PASS_DEF_EXPANDCOPIESPASS
#include "regather/Kernel/Transforms/Passes.h.inc"
} // namespace regather::kernel

namespace {
class ExpandCopiesPass
    : public kernel::impl::ExpandCopiesPassBase<ExpandCopiesPass> {
public:
  using ExpandCopiesPassBase::ExpandCopiesPassBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation().walk([&](memref::CopyOp op) {
      rewriter.setInsertionPoint(op);
      if (!dropSelfCopies || op.getSource() != op.getTarget()) {
        linalg::makeMemRefCopyOp(rewriter, op.getLoc(), op.getSource(),
                                 op.getTarget());
        ++numCopies;
      }
      rewriter.eraseOp(op);
    });
  }
};
} // namespace
