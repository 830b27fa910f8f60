//===- Rematerialize.cpp - Recompute in backward --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardCopies.h"
#include "GatherMerger.h"
#include "ParameterRegathers.h"

#include "regather/Dialect/TG/Transforms/Passes.h"
#include "regather/Dialect/TG/Utils/Policies.h"

#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "tg-rematerialize"

namespace regather::tg {
#define GEN_PASS_DEF_REMATERIALIZEPASS
#include "regather/Dialect/TG/Transforms/Passes.h.inc"
} // namespace regather::tg

using namespace mlir;
using namespace regather::tg;

namespace {
struct Rematerialize
    : public regather::tg::impl::RematerializePassBase<Rematerialize> {
  using RematerializePassBase::RematerializePassBase;

  void runOnOperation() override {
    for (FunctionOpInterface func : getSteps(getOperation())) {
      recompute(func);
      // What is recomputed may read parameters, gathered once more in front of
      // it, and so before backward has gathered them by itself.
      FailureOr<Regathers> regathers = regatherParameters(func);
      if (failed(regathers) ||
          (regathers->gathers > 0 && failed(mergeGathers(func))))
        return signalPassFailure();
    }
  }

private:
  void recompute(FunctionOpInterface func);
};
} // namespace

/// True if `value`, of forward, is marked and can be computed again. A future
/// is no value of its own: its wait speaks for it.
static bool isRecomputed(Value value, bool preferred) {
  Operation *def = value.getDefiningOp();
  std::optional<Policy> policy = getPolicy(def);
  if (!policy || !isRepeatable(def))
    return false;
  return policy == Policy::MustRecompute ||
         (preferred && policy == Policy::PreferRecompute && !isa<WaitOp>(def));
}

/// Tells which marks cannot be followed.
static void emitUnrepeatable(const StepGraph &graph) {
  for (Operation *op : graph.getOps())
    if (!graph.isBackward(op) && getPolicy(op) == Policy::MustRecompute &&
        !isRepeatable(op))
      remark::missed(
          op->getLoc(),
          remark::RemarkOpts::name("not-repeatable").category(DEBUG_TYPE))
          << remark::reason("'{0}' is saved although it is marked to be "
                            "recomputed: it would not give the same again",
                            op->getName().getStringRef());
}

static void emitRecomputed(FunctionOpInterface func,
                           const BackwardCopies &copies) {
  int64_t totalBytes = 0;
  double totalFlops = 0;
  for (auto [original, copy] : copies.getCopies()) {
    int64_t bytes = 0;
    for (Value result : original->getResults())
      bytes += getValueBytes(result);
    double flops = getOpCost(original).flops;
    auto id = original->getAttrOfType<StringAttr>(kIdAttrName);
    remark::passed(original->getLoc(),
                   remark::RemarkOpts::name("recomputed").category(DEBUG_TYPE))
        << remark::add("'{0}' is computed again in backward",
                       id ? id.getValue().str()
                          : original->getName().getStringRef().str())
        << remark::metric("bytes", bytes) << remark::metric("flops", flops);
    totalBytes += bytes;
    totalFlops += flops;
  }
  if (!copies.getCopies().empty())
    remark::analysis(func.getLoc(),
                     remark::RemarkOpts::name("total").category(DEBUG_TYPE))
        << remark::metric("recomputed", copies.getCopies().size())
        << remark::metric("bytes", totalBytes)
        << remark::metric("flops", totalFlops);
}

void Rematerialize::recompute(FunctionOpInterface func) {
  StepGraph graph(func.getFunctionBody().front());
  ParameterChains chains(func, graph);
  emitUnrepeatable(graph);
  BackwardCopies copies(
      graph,
      [&](Value value) { return isRecomputed(value, /*preferred=*/false); },
      [&](Value value) {
        return chains.isConstant(value) ||
               isRecomputed(value, /*preferred=*/true);
      });
  copies.run();
  emitRecomputed(func, copies);
  numOps += copies.getCopies().size();
  copies.eraseDeadOriginals();
}
