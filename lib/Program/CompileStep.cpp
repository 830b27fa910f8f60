//===- CompileStep.cpp - From a step to tables and code -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Program/CompileStep.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace regather;

/// Arguments that the step replaces, and would not write over yet.
static SmallVector<unsigned> findKept(func::FuncOp entry) {
  SmallVector<unsigned> kept;
  for (unsigned i = 0, e = entry.getNumResults(); i != e; ++i)
    if (auto role =
            entry.getResultAttrOfType<tg::RoleAttr>(i, tg::kRoleAttrName);
        role && role.getKind() == tg::RoleKind::Update &&
        !entry.getArgAttr(role.getArgument(), tg::kDonatedAttrName))
      kept.push_back(role.getArgument());
  return kept;
}

/// Lets the step write its updates over the arguments that they replace.
static void donateUpdated(func::FuncOp entry) {
  for (unsigned argument : findKept(entry))
    entry.setArgAttr(argument, tg::kDonatedAttrName,
                     UnitAttr::get(entry.getContext()));
}

/// True if a node has values that no program holds.
static bool needsLowerNodes(ModuleOp module) {
  return module
      ->walk([&](tg::NodeOp node) {
        return llvm::any_of(node->getOperandTypes(), isOnlyInCaptures) ||
                       llvm::any_of(node->getResultTypes(), isOnlyInCaptures)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

static LogicalResult lower(ModuleOp module, StringRef entry,
                           const ProgramOptions &program) {
  PassManager pm(module->getContext());
  buildProgramPipeline(pm, entry, program, needsLowerNodes(module));
  return pm.run(module);
}

FailureOr<OwningOpRef<ModuleOp>>
regather::lowerToProgram(func::FuncOp entry, const ProgramOptions &program) {
  OwningOpRef<ModuleOp> module = entry->getParentOfType<ModuleOp>().clone();
  donateUpdated(module->lookupSymbol<func::FuncOp>(entry.getName()));
  if (failed(lower(*module, entry.getName(), program)))
    return failure();
  return module;
}

bool regather::formsKernelsFirst(func::FuncOp entry) {
  auto module = entry->getParentOfType<ModuleOp>();
  return llvm::hasSingleElement(module.getOps<func::FuncOp>()) &&
         findKept(entry).empty() && !needsLowerNodes(module);
}

LogicalResult regather::lowerKernelsToProgram(func::FuncOp entry,
                                              const ProgramOptions &program) {
  auto module = entry->getParentOfType<ModuleOp>();
  PassManager pm(module->getContext());
  buildMemoryPipeline(pm, entry.getName(), program);
  return pm.run(module);
}

LogicalResult regather::lowerToTables(func::FuncOp entry,
                                      const ProgramOptions &program,
                                      ProgramPlace place,
                                      OwningOpRef<ModuleOp> &module,
                                      std::unique_ptr<ProgramTables> &tables) {
  FailureOr<OwningOpRef<ModuleOp>> lowered = lowerToProgram(entry, program);
  if (failed(lowered))
    return failure();
  module = std::move(*lowered);
  FailureOr<std::unique_ptr<ProgramTables>> built = ProgramTables::build(
      module->lookupSymbol<exec::ProgramOp>(entry.getName()), place);
  if (failed(built))
    return failure();
  tables = std::move(*built);
  return success();
}

FailureOr<CompiledStep>
regather::compileStep(func::FuncOp entry,
                      const cpu::KernelCompileOptions &options,
                      const ProgramOptions &program) {
  CompiledStep step;
  if (failed(lowerToTables(entry, program, ProgramPlace::Host, step.module,
                           step.tables)))
    return failure();
  FailureOr<std::vector<cpu::KernelCode>> kernels =
      cpu::compileKernels(step.tables->getKernels(), options, step.statistics);
  if (failed(kernels))
    return failure();
  step.kernels = std::move(*kernels);
  for (auto [i, kernel] : llvm::enumerate(step.kernels))
    step.tables->setKernel(i, nullptr, kernel.rows, kernel.grain,
                           kernel.scratchBytes);
  return step;
}
