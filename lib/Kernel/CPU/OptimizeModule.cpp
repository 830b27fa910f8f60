//===- OptimizeModule.cpp - LLVM's passes over a kernel -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OptimizeModule.h"

#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"

using namespace llvm;
using namespace regather;

static const OptimizationLevel &kLevel = OptimizationLevel::O2;

/// Unrolls loops, and keeps what one step stores and the next one loads in
/// registers.
static void addUnrolling(FunctionPassManager &passes, bool isLarge) {
  LoopUnrollOptions unroll(kLevel.getSpeedupLevel());
  unroll.setPartial(isLarge).setRuntime(false).setPeeling(false);
  passes.addPass(LoopUnrollPass(unroll));
  passes.addPass(InstCombinePass());
  passes.addPass(createFunctionToLoopPassAdaptor(LICMPass(LICMOptions()),
                                                 /*UseMemorySSA=*/true));
}

void cpu::optimizeModule(Module &module, TargetMachine &machine, bool isLarge) {
  PipelineTuningOptions tuning;
  tuning.LoopUnrolling = false;
  PassBuilder builder(&machine, tuning);
  builder.registerVectorizerEndEPCallback(
      [=](FunctionPassManager &passes, OptimizationLevel) {
        addUnrolling(passes, isLarge);
      });
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager calls;
  ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(calls);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, calls, modules);
  builder.buildPerModuleDefaultPipeline(kLevel).run(module, modules);
}
