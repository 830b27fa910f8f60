//===- NativePipeline.cpp - From a step to a program ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Conversion/Passes.h"
#include "regather/Dialect/Exec/Transforms/Passes.h"
#include "regather/Dialect/TG/Transforms/Passes.h"
#include "regather/Pipelines/Pipelines.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace regather;

void regather::addOptionalSchedule(OpPassManager &pm) {
  std::unique_ptr<Pass> schedule = tg::createSchedulePass();
  LogicalResult isKnown = schedule->initializeOptions(
      "mode=none", [](const Twine &) { return failure(); });
  assert(succeeded(isKnown) && "the mode that changes nothing");
  (void)isKnown;
  pm.addPass(std::move(schedule));
}

void regather::buildNativePipeline(OpPassManager &pm, StringRef entry,
                                   bool lowersNodes) {
  // The step as one list of operations. Without the simplifications that the
  // inliner runs by default: what is run is what was written.
  pm.addPass(createInlinerPass(llvm::StringMap<OpPassManager>(),
                               [](OpPassManager &) {}));

  // Values that lie in memory as others: complex numbers, unsigned bytes.
  if (lowersNodes)
    pm.addPass(createConvertTGNodesToLinalgPass());

  // What is computed together.
  pm.addPass(tg::createFormKernelsPass());

  // In which order. By default, the one that it is in.
  addOptionalSchedule(pm);

  // What is done where in memory, and when.
  ConvertTGToExecPassOptions toExec;
  toExec.entry = entry.str();
  pm.addPass(createConvertTGToExecPass(toExec));
  // By default, no graphs.
  pm.addPass(exec::createFormGraphsPass());
  pm.addPass(exec::createPlanMemoryPass());
  pm.addPass(tg::createVerifyStepPass());
}
