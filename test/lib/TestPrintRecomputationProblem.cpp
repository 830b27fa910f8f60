//===- TestPrintRecomputationProblem.cpp - What a budget decides ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints what `tg-partition` with a budget decides about, for another solver:
//
//   {"ops": [[seconds, may recompute, [values read]]],
//    "values": [[op, bytes, may save, is needed]]}
//
//===----------------------------------------------------------------------===//

#include "TestPasses.h"

#include "Dialect/TG/Transforms/Partition/BudgetPlan.h"
#include "regather/Dialect/TG/Steps/StepEntry.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

static llvm::json::Value toJson(const RecomputationProblem &problem) {
  llvm::json::Array ops, values;
  for (const RecomputationProblem::Op &op : problem.ops)
    ops.push_back(llvm::json::Array{op.seconds, op.mayRecompute,
                                    llvm::json::Array(op.inputs)});
  for (const RecomputationProblem::Value &value : problem.values)
    values.push_back(llvm::json::Array{value.op, value.bytes, value.maySave,
                                       value.isNeeded});
  return llvm::json::Object{{"ops", std::move(ops)},
                            {"values", std::move(values)}};
}

namespace {
struct TestPrintRecomputationProblem
    : public PassWrapper<TestPrintRecomputationProblem,
                         OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestPrintRecomputationProblem)

  StringRef getArgument() const override {
    return "test-print-recomputation-problem";
  }
  StringRef getDescription() const override {
    return "Print what a partition with a budget decides about";
  }

  void runOnOperation() override {
    FailureOr<func::FuncOp> func = findStep(getOperation(), "one is looked at");
    if (failed(func) || !*func)
      return signalPassFailure();
    FailureOr<CostModel> model = partition::loadCostModel(*func, "h100-nodes");
    if (failed(model))
      return signalPassFailure();
    FailureOr<StepCosts> costs = StepCosts::create(getOperation(), *model);
    if (failed(costs))
      return signalPassFailure();
    StepGraph graph(func->getBody().front());
    ParameterChains chains(*func, graph);
    llvm::outs() << toJson(partition::makeRecomputationProblem(
                        {*func, graph, chains}, *costs))
                 << '\n';
  }
};
} // namespace

void regather::test::registerTestPrintRecomputationProblemPass() {
  PassRegistration<TestPrintRecomputationProblem>();
}
