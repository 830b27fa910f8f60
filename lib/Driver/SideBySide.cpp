//===- SideBySide.cpp - Parts of a search on threads ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SideBySide.h"

#include "regather/Pipelines/Pipelines.h"
#include "regather/Pipelines/StepOptions.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/Threading.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace regather;

/// Loads the dialects of all passes that steps go through, which threads must
/// not do.
static void loadPassDialects(MLIRContext *context) {
  StepOptions all;
  all.shard.mesh = {"dp:2", "tp:2"};
  all.policy.emplace();
  all.optimizer.emplace();
  all.states.states = "all";
  for (PassDecision recompute : {PassDecision::Yes, PassDecision::No}) {
    all.recompute.decision = recompute;
    all.chunk.decision = all.reshard.decision = all.bucket.decision =
        all.schedule.decision = all.offload.decision = PassDecision::Yes;
    OpPassManager pm(ModuleOp::getOperationName(),
                     OpPassManager::Nesting::Implicit);
    buildStepPipeline(pm, all);
    buildProgramPipeline(pm, all.entry, all.getProgram(), /*lowersNodes=*/true);
    DialectRegistry dialects;
    pm.getDependentDialects(dialects);
    context->appendDialectRegistry(dialects);
    for (StringRef name : dialects.getDialectNames())
      context->getOrLoadDialect(name);
  }
}

void regather::runSideBySide(MLIRContext *context, SearchParts parts) {
  if (context->getRemarkEngine()) {
    for (const std::function<void()> &part : parts)
      part();
    return;
  }
  loadPassDialects(context);
  // Errors of one part must not end up with another one.
  ScopedDiagnosticHandler handler(context,
                                  [](Diagnostic &) { return success(); });
  parallelForEach(context, parts, [](const auto &part) { part(); });
}
