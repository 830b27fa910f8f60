//===- TGToExec.cpp - Lower a step to a linear program --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ComputeOutliner.h"
#include "StepLowering.h"

#include "regather/Conversion/Passes.h"
#include "regather/Dialect/TG/Steps/StepEntry.h"

namespace regather {
#define GEN_PASS_DEF_CONVERTTGTOEXECPASS
#include "regather/Conversion/Passes.h.inc"
} // namespace regather

#define DEBUG_TYPE "convert-tg-to-exec"

using namespace mlir;
using namespace regather;

namespace {
struct ConvertTGToExec
    : public regather::impl::ConvertTGToExecPassBase<ConvertTGToExec> {
  using ConvertTGToExecPassBase::ConvertTGToExecPassBase;

  void runOnOperation() override {
    FailureOr<func::FuncOp> step = findEntry();
    if (failed(step))
      return signalPassFailure();
    if (!*step)
      return;
    UnsupportedOps unsupported(*step);
    ComputeOutliner outliner(*step, unsupported);
    outliner.run();
    if (failed(unsupported.report()))
      return signalPassFailure();
    StepLowering lowering(*step, commStreams);
    lowering.run();
    step->erase();
    numOutlined += outliner.getNumOutlined();
    numCollectives += lowering.getNumCollectives();
    numInPlace += lowering.getNumInPlace();
    numTransfers += lowering.getNumTransfers();
  }

  FailureOr<func::FuncOp> findEntry() {
    if (commStreams == 0)
      return getOperation().emitError()
             << "'comm-streams' must be at least 1, got 0";
    FailureOr<func::FuncOp> step;
    if (entry.empty()) {
      step = tg::findStep(getOperation(), "name one with 'entry'");
    } else {
      step = getOperation().lookupSymbol<func::FuncOp>(entry);
      if (!*step || step->isExternal())
        return getOperation().emitError()
               << "there is no function \"" << entry << "\" with a body";
    }
    if (succeeded(step) && *step && !step->getBody().hasOneBlock())
      return step->emitError() << "a step must have one block, got "
                               << step->getBody().getBlocks().size();
    return step;
  }
};
} // namespace
