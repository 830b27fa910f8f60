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
#include "RecomputedBits.h"
#include "RecomputedChains.h"

#include "regather/Dialect/TG/Steps/Policies.h"
#include "regather/Dialect/TG/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "tg-rematerialize"

namespace regather::tg {
#define GEN_PASS_DEF_REMATERIALIZEPASS
#include "regather/Dialect/TG/Transforms/Passes.h.inc"
} // namespace regather::tg

using namespace mlir;
using namespace regather::tg;

namespace {
/// Finds the operations that are new in backward. Rewrites have to notify it of
/// what they erase, because an operation that replaces another one is not new.
class NewInBackward : public RewriterBase::Listener {
public:
  explicit NewInBackward(FunctionOpInterface func) {
    forEachBackward(func, [&](Operation *op) { before.insert(op); });
  }

  void notifyOperationErased(Operation *op) override {
    if (before.erase(op))
      ++replaced[getKey(op)];
  }

  /// Called once.
  SmallVector<Operation *> find(FunctionOpInterface func) {
    SmallVector<Operation *> found;
    forEachBackward(func, [&](Operation *op) {
      if (before.contains(op))
        return;
      auto it = replaced.find(getKey(op));
      if (it != replaced.end() && it->second > 0)
        --it->second;
      else
        found.push_back(op);
    });
    return found;
  }

private:
  using Key = std::pair<const void *, Attribute>;
  static Key getKey(Operation *op) {
    return {op->getName().getAsOpaquePointer(), op->getAttr(kIdAttrName)};
  }
  static void forEachBackward(FunctionOpInterface func,
                              function_ref<void(Operation *)> visit) {
    StepGraph graph(func.getFunctionBody().front());
    for (auto [number, op] : llvm::enumerate(graph.getOps()))
      if (graph.isBackward(number))
        visit(op);
  }

  llvm::DenseSet<Operation *> before;
  llvm::DenseMap<Key, unsigned> replaced;
};

struct Rematerialize
    : public regather::tg::impl::RematerializePassBase<Rematerialize> {
  using RematerializePassBase::RematerializePassBase;

  void runOnOperation() override {
    for (FunctionOpInterface func : getSteps(getOperation()))
      if (failed(rematerialize(func)))
        return signalPassFailure();
  }

private:
  LogicalResult rematerialize(FunctionOpInterface func);
  bool recompute(FunctionOpInterface func);
  void report(FunctionOpInterface func, ArrayRef<Operation *> copies);
};
} // namespace

/// True if `value`, of forward, is marked and can be computed again. A future
/// has no mark of its own: its wait has.
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

void Rematerialize::report(FunctionOpInterface func,
                           ArrayRef<Operation *> copies) {
  numOps += copies.size();
  int64_t totalBytes = 0;
  double totalFlops = 0;
  for (Operation *copy : copies) {
    int64_t bytes = 0;
    for (Value result : copy->getResults())
      bytes += getValueBytes(result);
    double flops = getOpCost(copy).flops;
    auto id = copy->getAttrOfType<StringAttr>(kIdAttrName);
    remark::passed(copy->getLoc(),
                   remark::RemarkOpts::name("recomputed").category(DEBUG_TYPE))
        << remark::add("'{0}' is computed again in backward",
                       id ? id.getValue().str()
                          : copy->getName().getStringRef().str())
        << remark::metric("bytes", bytes) << remark::metric("flops", flops);
    totalBytes += bytes;
    totalFlops += flops;
  }
  if (!copies.empty())
    remark::analysis(func.getLoc(),
                     remark::RemarkOpts::name("total").category(DEBUG_TYPE))
        << remark::metric("recomputed", copies.size())
        << remark::metric("bytes", totalBytes)
        << remark::metric("flops", totalFlops);
}

/// Returns true if that took further gathers.
bool Rematerialize::recompute(FunctionOpInterface func) {
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
  bool gathers = llvm::any_of(copies.getCopies(), [](const auto &pair) {
    return isa<AllGatherOp>(pair.second);
  });
  copies.eraseDeadOriginals();
  return gathers;
}

LogicalResult Rematerialize::rematerialize(FunctionOpInterface func) {
  NewInBackward added(func);
  markRecomputedChains(func);
  markRecomputedBits(func);
  bool gathers = recompute(func);
  // Recomputed operations may read parameters, which are gathered before them,
  // and so before the gathers that backward has already.
  FailureOr<Regathers> regathers = regatherParameters(func);
  if (failed(regathers))
    return failure();
  if ((gathers || regathers->gathers > 0) && failed(mergeGathers(func, &added)))
    return failure();
  report(func, added.find(func));
  return success();
}
