//===- FormKernels.cpp - Group what generated code runs as one ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormKernels/KernelOutliner.h"
#include "FormKernels/LibraryKernels.h"
#include "FormKernels/SplitNorms.h"
#include "FormKernels/SplitSums.h"

#include "regather/Dialect/TG/Transforms/Passes.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace regather::tg {
#define GEN_PASS_DEF_FORMKERNELSPASS
#include "regather/Dialect/TG/Transforms/Passes.h.inc"
} // namespace regather::tg

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::kernels;

namespace {
struct FormKernels
    : public regather::tg::impl::FormKernelsPassBase<FormKernels> {
  using FormKernelsPassBase::FormKernelsPassBase;

  void runOnOperation() override {
    if (maxOps == 0) {
      emitError(getOperation().getLoc())
          << "'max-ops' must be at least 1, got " << maxOps.getValue();
      return signalPassFailure();
    }
    KernelTable table(getOperation());
    KernelOutliner outliner(table);
    LibraryKernels library(table);
    SmallVector<FunctionOpInterface> functions;
    for (auto func : getOperation().getOps<FunctionOpInterface>())
      if (!isa<KernelOp>(func) && func.getFunctionBody().hasOneBlock())
        functions.push_back(func);
    for (FunctionOpInterface func : functions) {
      Block &block = func.getFunctionBody().front();
      table.setInsertionPoint(func);
      numSplitNorms += splitNormGradients(block);
      numSplitSums += splitWholeSums(block);
      library.form(block);
      KernelGroups groups(block, {maxOps, maxOperands});
      groups.form();
      outliner.outline(block, groups);
    }
    numKernels += table.getNumInserted();
    numLaunches += outliner.getNumLaunches() + library.getNumLaunches();
    numLibraryLaunches += library.getNumLaunches();
    numOps += outliner.getNumOpsInKernels() + library.getNumOps();
  }
};
} // namespace
