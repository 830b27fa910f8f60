//===- FormGraphs.cpp - Group operations into graphs ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormGraphs/GraphGrouping.h"

#include "regather/Dialect/Exec/Transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"

namespace regather::exec {
#define GEN_PASS_DEF_FORMGRAPHSPASS
#include "regather/Dialect/Exec/Transforms/Passes.h.inc"
} // namespace regather::exec

#define DEBUG_TYPE "exec-form-graphs"

using namespace mlir;
using namespace regather::exec;

namespace {
struct FormGraphs
    : public regather::exec::impl::FormGraphsPassBase<FormGraphs> {
  using FormGraphsPassBase::FormGraphsPassBase;

  void runOnOperation() override {
    if (failed(checkOptions()))
      return signalPassFailure();
    if (mode == GraphMode::None)
      return markAllAnalysesPreserved();
    for (auto program : getOperation().getOps<ProgramOp>())
      if (failed(form(program)))
        return signalPassFailure();
  }

  LogicalResult checkOptions() {
    if (mode == GraphMode::Modules && modules.empty())
      return emitError(getOperation().getLoc())
             << "mode 'modules' expects patterns in option 'modules'";
    if (mode != GraphMode::Modules && !modules.empty())
      return emitError(getOperation().getLoc())
             << "option 'modules' has a meaning in mode 'modules' only";
    if (minOps != FormGraphsPassOptions().minOps &&
        mode != GraphMode::Modules && mode != GraphMode::Unit)
      return emitError(getOperation().getLoc())
             << "option 'min-ops' has a meaning in modes 'unit' and 'modules' "
                "only";
    return success();
  }

  LogicalResult form(ProgramOp program) {
    if (!program.getBody().getOps<GraphOp>().empty())
      return program.emitError() << "has graphs already";
    return mode == GraphMode::Full ? formOne(program) : formSeveral(program);
  }

  LogicalResult formOne(ProgramOp program) {
    if (failed(verifyNoControlFlow(program)))
      return failure();
    ProgramItems items(program);
    if (items.get().empty())
      return success();
    ItemGroup whole{program.getSymName().str(), {}};
    llvm::append_range(whole.items, llvm::seq(items.get().size()));
    items.rewrite(whole);
    report(program, 1, static_cast<int64_t>(whole.items.size()));
    return success();
  }

  LogicalResult formSeveral(ProgramOp program) {
    FailureOr<GraphNames> names =
        nameGraphs(program, mode,
                   std::vector<std::string>(modules.begin(), modules.end()));
    if (failed(names))
      return failure();
    ProgramItems items(program);
    GraphGrouping grouping(items.get(), *names, minOps);
    std::vector<ItemGroup> groups = grouping.run();
    if (grouping.numGraphs > 0)
      items.rewrite(groups);
    numMovedBefore += grouping.numMovedBefore;
    numMovedBehind += grouping.numMovedBehind;
    if (grouping.numGraphs == 0 && !items.get().empty())
      emitWarning(program.getLoc())
          << "no graph is formed: no unit of the step has " << minOps.getValue()
          << " operations ('min-ops') that can be launched together";
    report(program, grouping.numGraphs, grouping.numOps);
    return success();
  }

  void report(ProgramOp program, int64_t graphs, int64_t ops) {
    numGraphs += graphs;
    numOps += ops;
    remark::passed(program.getLoc(),
                   remark::RemarkOpts::name("graphs").category(DEBUG_TYPE))
        << remark::metric("graphs", graphs) << remark::metric("ops", ops);
  }
};
} // namespace
