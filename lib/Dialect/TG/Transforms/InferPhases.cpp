//===- InferPhases.cpp - Tell forward, backward and optimizer apart -------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParameterRegathers.h"

#include "regather/Dialect/TG/Steps/PhaseInference.h"
#include "regather/Dialect/TG/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "tg-infer-phases"

namespace regather::tg {
#define GEN_PASS_DEF_INFERPHASESPASS
#include "regather/Dialect/TG/Transforms/Passes.h.inc"
} // namespace regather::tg

using namespace mlir;
using namespace regather::tg;

namespace {
struct InferPhases
    : public regather::tg::impl::InferPhasesPassBase<InferPhases> {
  using InferPhasesPassBase::InferPhasesPassBase;

  void runOnOperation() override {
    for (FunctionOpInterface func : getSteps(getOperation()))
      if (isa<func::FuncOp>(*func) && failed(mark(func)))
        return signalPassFailure();
  }

private:
  LogicalResult mark(FunctionOpInterface func);
};
} // namespace

static bool hasRole(FunctionOpInterface func, RoleKind kind) {
  return llvm::any_of(
      llvm::seq(0u, func.getNumResults()), [&](unsigned result) {
        auto role = func.getResultAttrOfType<RoleAttr>(result, kRoleAttrName);
        return role && role.getKind() == kind;
      });
}

LogicalResult InferPhases::mark(FunctionOpInterface func) {
  StepGraph graph(func.getFunctionBody().front());
  bool isMarked = llvm::all_of(graph.getOps(), [](Operation *op) {
    return isa<WaitOp>(op) || getPhase(op);
  });
  if (isMarked)
    return success();
  if (hasRole(func, RoleKind::Gradient) && !hasRole(func, RoleKind::Loss))
    return func.emitError() << "phases cannot be inferred: the step returns "
                               "gradients, but no result has role \"loss\"";
  InferredPhases inferred = inferPhases(func, graph);
  if (std::optional<unsigned> argument = inferred.undecidedUpdate)
    return func.emitError()
           << "phases cannot be inferred: the step updates parameter \""
           << getParameterName(func, func.getArgument(*argument))
           << "\", but returns no gradient of it that would tell backward from "
              "optimizer";
  int64_t counts[] = {0, 0, 0};
  for (auto [op, phase] : llvm::zip_equal(graph.getOps(), inferred.phases)) {
    if (isa<CollectiveOpInterface>(op) || op->hasAttr(kPhaseAttrName))
      continue;
    op->setAttr(kPhaseAttrName, PhaseAttr::get(&getContext(), phase));
    ++counts[static_cast<unsigned>(phase)];
  }
  numForward += counts[static_cast<unsigned>(Phase::Forward)];
  numBackward += counts[static_cast<unsigned>(Phase::Backward)];
  numOptimizer += counts[static_cast<unsigned>(Phase::Optimizer)];
  remark::passed(func.getLoc(),
                 remark::RemarkOpts::name("phases").category(DEBUG_TYPE))
      << remark::metric("forward", counts[0])
      << remark::metric("backward", counts[1])
      << remark::metric("optimizer", counts[2]);
  return success();
}
