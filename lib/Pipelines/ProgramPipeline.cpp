//===- ProgramPipeline.cpp - From a step to a program ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Pipelines/Pipelines.h"

#include "regather/Kernel/Transforms/Passes.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace regather;

void regather::buildKernelPipeline(OpPassManager &pm,
                                   const ProgramOptions &options) {
  // What is kept on the host between steps, which decides how updates are cut.
  if (options.states.states != "none") {
    tg::OffloadStatesPassOptions states = options.states;
    if (states.cluster.empty())
      states.cluster = tg::OffloadStatesPassOptions().cluster;
    pm.addPass(tg::createOffloadStatesPass(states));
  }

  // What is computed together.
  pm.addPass(tg::createFormKernelsPass(options.kernels));
  pm.addPass(kernel::createMergeElementwisePass());

  // What is kept on the host between forward and backward. By default, what is
  // marked.
  if (options.offload) {
    tg::OffloadPassOptions offload = *options.offload;
    if (offload.cluster.empty())
      offload.cluster = tg::OffloadPassOptions().cluster;
    pm.addPass(tg::createOffloadPass(offload));
  }

  // In which order. By default, the one that it is in.
  pm.addPass(tg::createSchedulePass(options.schedule));
}

bool regather::isOnlyInCaptures(Type type) {
  Type element = getElementTypeOrSelf(type);
  return isa<ComplexType>(element) || element.isUnsignedInteger();
}

void regather::buildProgramPipeline(OpPassManager &pm, StringRef entry,
                                    const ProgramOptions &options,
                                    bool lowersNodes) {
  // The step as one list of operations. Without the simplifications that the
  // inliner runs by default: what is run is what was written.
  pm.addPass(createInlinerPass(llvm::StringMap<OpPassManager>(),
                               [](OpPassManager &) {}));

  // Values that lie in memory as others: complex numbers, unsigned bytes.
  if (lowersNodes)
    pm.addPass(createConvertTGNodesToLinalgPass());

  buildKernelPipeline(pm, options);
  buildMemoryPipeline(pm, entry, options);
}

void regather::buildMemoryPipeline(OpPassManager &pm, StringRef entry,
                                   const ProgramOptions &options) {
  // What is done when, and on which stream.
  ConvertTGToExecPassOptions toExec = options.toExec;
  toExec.entry = entry.str();
  pm.addPass(createConvertTGToExecPass(toExec));

  // What a device is told at once. By default, nothing.
  pm.addPass(exec::createFormGraphsPass(options.graphs));

  // Where everything lies in memory. Only the program is verified: of a step
  // written by hand, tg-verify-step does not see whether ranks branch alike.
  pm.addPass(exec::createPlanMemoryPass(options.memory));
  pm.addPass(tg::createVerifyStepPass());
}
