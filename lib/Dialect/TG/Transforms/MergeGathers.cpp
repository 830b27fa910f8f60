//===- MergeGathers.cpp - Gather a parameter once in a phase --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GatherMerger.h"

#include "regather/Dialect/TG/Steps/StepGraph.h"
#include "regather/Dialect/TG/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "tg-merge-gathers"

namespace regather::tg {
#define GEN_PASS_DEF_MERGEGATHERSPASS
#include "regather/Dialect/TG/Transforms/Passes.h.inc"
} // namespace regather::tg

using namespace mlir;
using namespace regather::tg;

namespace {
struct MergeGathers
    : public regather::tg::impl::MergeGathersPassBase<MergeGathers> {
  using MergeGathersPassBase::MergeGathersPassBase;

  void runOnOperation() override {
    for (FunctionOpInterface func : getSteps(getOperation())) {
      FailureOr<MergedGathers> merged = mergeGathers(func);
      if (failed(merged))
        return signalPassFailure();
      numGathers += merged->gathers;
      numOps += merged->ops;
      if (merged->gathers > 0)
        remark::analysis(func.getLoc(),
                         remark::RemarkOpts::name("total").category(DEBUG_TYPE))
            << remark::metric("gathers", merged->gathers)
            << remark::metric("bytes", merged->bytes)
            << remark::metric("ops", merged->ops);
    }
  }
};
} // namespace
