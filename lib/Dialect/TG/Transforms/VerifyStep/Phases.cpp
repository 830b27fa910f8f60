//===- Phases.cpp - Check that backward is marked -------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Phases.h"

#include "regather/Dialect/TG/Steps/PhaseInference.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace regather::tg;

/// The first result with a role of this kind.
static std::optional<unsigned> findResultOfKind(FunctionOpInterface func,
                                                RoleKind kind) {
  for (unsigned i = 0, e = func.getNumResults(); i != e; ++i)
    if (auto role = func.getResultAttrOfType<RoleAttr>(i, kRoleAttrName);
        role && role.getKind() == kind)
      return i;
  return std::nullopt;
}

LogicalResult regather::tg::verifyPhases(FunctionOpInterface func) {
  std::optional<unsigned> gradient = findResultOfKind(func, RoleKind::Gradient);
  if (!isa<func::FuncOp>(*func) || !func.getFunctionBody().hasOneBlock() ||
      !gradient || !findResultOfKind(func, RoleKind::Loss))
    return success();
  StepGraph graph(func.getFunctionBody().front());
  InferredPhases inferred = inferPhases(func, graph);
  // Operations so far that are made of constants alone.
  llvm::DenseSet<Operation *> constants;
  for (auto [number, op] : llvm::enumerate(graph.getOps())) {
    bool isConstant = true;
    forEachInput(op, [&](Value input) {
      isConstant &= constants.contains(input.getDefiningOp());
    });
    if (isConstant)
      constants.insert(op);
    if (isConstant || graph.isBackward(number) ||
        inferred.phases[number] != Phase::Backward)
      continue;
    InFlightDiagnostic diag =
        op->emitError()
        << "only gradients need this operation, but it has no '"
        << kPhaseAttrName
        << "' and counts as forward; tg-infer-phases marks what is backward";
    diag.attachNote(func.getLoc())
        << "result " << *gradient << " is a gradient";
    return diag;
  }
  return success();
}
