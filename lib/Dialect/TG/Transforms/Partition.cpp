//===- Partition.cpp - Split a step into forward and backward -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardCopies.h"
#include "GatherMerger.h"
#include "ParameterRegathers.h"
#include "Partition/BudgetPlan.h"
#include "Partition/SavedValues.h"
#include "Partition/StepSplitter.h"
#include "RecomputedBits.h"
#include "RecomputedChains.h"

#include "regather/Dialect/TG/Steps/Policies.h"
#include "regather/Dialect/TG/Steps/StepEntry.h"
#include "regather/Dialect/TG/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define DEBUG_TYPE "tg-partition"

namespace regather::tg {
#define GEN_PASS_DEF_PARTITIONPASS
#include "regather/Dialect/TG/Transforms/Passes.h.inc"
} // namespace regather::tg

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::partition;

/// The number of an operation of forward, while the pass runs.
static constexpr llvm::StringLiteral kNumberAttrName = "tg.forward_number";

/// Numbers the operations of forward, so that copies can be recognized, which
/// keep the number. Not numbered are operations on integers, which compute
/// positions, and those on gathered parameters alone, which have a report of
/// their own.
static void numberForward(func::FuncOp func) {
  StepGraph graph(func.getBody().front());
  ParameterChains chains(func, graph);
  Builder builder(func.getContext());
  auto isCounted = [&](Operation *op) {
    if (auto gather = dyn_cast<AllGatherOp>(op))
      return chains.getMembers(gather).empty();
    return llvm::none_of(op->getResults(), [&](Value value) {
      return value.getType().isIntOrIndexOrFloat() || chains.isGathered(value);
    });
  };
  for (auto [number, op] : llvm::enumerate(graph.getOps()))
    if (!graph.isBackward(number) && isCounted(op))
      op->setAttr(kNumberAttrName, builder.getI64IntegerAttr(number));
}

namespace {
struct Partition : public regather::tg::impl::PartitionPassBase<Partition> {
  using PartitionPassBase::PartitionPassBase;

  void runOnOperation() override {
    FailureOr<func::FuncOp> step =
        findStep(getOperation(), "one of them can be partitioned");
    if (failed(step))
      return signalPassFailure();
    if (!*step || !(*step).getBody().hasOneBlock())
      return;
    if (matchPyTorch && mode != PartitionMode::MinCut) {
      emitError(getOperation().getLoc())
          << "option 'match-pytorch' is for mode min-cut";
      return signalPassFailure();
    }
    if ((mode == PartitionMode::Budget) != (budget >= 0)) {
      emitError(getOperation().getLoc())
          << "mode budget and option 'budget', a number of "
             "bytes, need each other";
      return signalPassFailure();
    }
    eraseDeadBackward(*step);
    // Gathers of one parameter count once, with the policies of all. PyTorch
    // keeps those that it is given.
    if (!matchPyTorch && failed(mergeGathers(*step)))
      return signalPassFailure();
    numberForward(*step);
    FailureOr<CostModel> model = loadCostModel(*step, cluster);
    if (failed(model) || failed(readRecord(*step)) ||
        failed(recompute(*step, *model)))
      return signalPassFailure();
    // Numbers are removed before gathers are compared, which may differ by
    // their number alone. Merging gathers removes nothing that is counted.
    if (failed(countRepeated(*step, *model)))
      return signalPassFailure();
    if (!matchPyTorch && failed(mergeGathers(*step)))
      return signalPassFailure();
    record(*step);
    if (split && failed(splitStep(*step)))
      signalPassFailure();
  }

private:
  void eraseDeadBackward(func::FuncOp step);
  LogicalResult readRecord(func::FuncOp func);
  void preferRecord(func::FuncOp func);
  FailureOr<SavedValues> decide(func::FuncOp func, StepCosts &costs);
  FailureOr<SavedValues> keepBudget(const Step &step, StepCosts &costs);
  LogicalResult recompute(func::FuncOp func, const CostModel &model);
  LogicalResult countRepeated(func::FuncOp func, const CostModel &model);
  void record(func::FuncOp func);

  /// How many operations the current step computes twice.
  int64_t numRepeated = 0;
  double repeatedFlops = 0;
  double repeatedSeconds = 0;
};
} // namespace

/// What backward computes for nobody, such as a wait without readers, keeps no
/// value alive.
void Partition::eraseDeadBackward(func::FuncOp func) {
  StepGraph graph(func.getBody().front());
  for (Operation *op : llvm::reverse(graph.getOps()))
    if (graph.isBackward(op) && isOpTriviallyDead(op))
      op->erase();
}

/// Marks what the option `saved` lists.
LogicalResult Partition::readRecord(func::FuncOp func) {
  if (saved.empty())
    return success();
  if (mode != PartitionMode::Replay)
    return emitError(getOperation().getLoc())
           << "option 'saved' is for mode replay";
  llvm::StringMap<SmallVector<Operation *, 1>> byId;
  StepGraph graph(func.getBody().front());
  for (Operation *op : graph.getOps())
    if (auto id = op->getAttrOfType<StringAttr>(kIdAttrName);
        id && !graph.isBackward(op) && !isa<CollectiveOpInterface>(op))
      byId[id.getValue()].push_back(op);
  for (const std::string &text : saved) {
    auto [id, number] = StringRef(text).split(':');
    auto it = byId.find(id);
    if (it == byId.end())
      return emitError(func.getLoc())
             << "record names \"" << text
             << "\", but no operation of forward has the id \"" << id << '"';
    unsigned index = 0;
    for (Operation *op : it->second) {
      if (!number.empty() &&
          (number.getAsInteger(10, index) || index >= op->getNumResults())) {
        InFlightDiagnostic diag = emitError(op->getLoc())
                                  << "record names \"" << text
                                  << "\", but the operation has "
                                  << op->getNumResults() << " results";
        return diag;
      }
      if (number.empty())
        for (unsigned i = 0, e = op->getNumResults(); i != e; ++i)
          recordSaved(op, i);
      else
        recordSaved(op, index);
    }
  }
  return success();
}

/// A record is exact. Beside it, marks of the model count, but those of a plan
/// do not, because they would change the partition.
void Partition::preferRecord(func::FuncOp func) {
  StepGraph graph(func.getBody().front());
  if (llvm::none_of(graph.getOps(), hasRecord))
    return;
  int64_t count = 0;
  for (Operation *op : graph.getOps()) {
    auto policy = op->getAttrOfType<PolicyAttr>(kPolicyAttrName);
    if (!policy || !policy.getPlanned())
      continue;
    op->removeAttr(kPolicyAttrName);
    ++count;
  }
  if (count > 0)
    remark::missed(
        func.getLoc(),
        remark::RemarkOpts::name("plan-has-no-effect").category(DEBUG_TYPE))
        << remark::reason("what is recorded is replayed; the marks that "
                          "tg-apply-policy has given do not count")
        << remark::metric("marks", count);
}

FailureOr<SavedValues> Partition::keepBudget(const Step &step,
                                             StepCosts &costs) {
  FailureOr<BudgetPlan> plan = saveWithinBudget(step, budget, costs);
  if (failed(plan))
    return failure();
  remark::analysis(step.func.getLoc(),
                   remark::RemarkOpts::name("budget").category(DEBUG_TYPE))
      << remark::metric("budget", budget.getValue().bytes)
      << remark::metric("saved_bytes", plan->savedBytes)
      << remark::metric("seconds", plan->seconds)
      << remark::metric("least_seconds", plan->lowerBound);
  return std::move(plan->saved);
}

FailureOr<SavedValues> Partition::decide(func::FuncOp func, StepCosts &costs) {
  StepGraph graph(func.getBody().front());
  PartitionMode chosen = mode;
  if (!graph.hasBackward()) {
    remark::missed(func.getLoc(),
                   remark::RemarkOpts::name("no-backward").category(DEBUG_TYPE))
        << remark::reason("the step has no backward part: nothing is saved");
    chosen = PartitionMode::Default;
  }
  if (chosen == PartitionMode::MinCut && matchPyTorch)
    return saveLikePyTorch(func);
  ParameterChains chains(func, graph);
  Step step{func, graph, chains};
  switch (chosen) {
  case PartitionMode::Default:
    return saveEverything(step);
  case PartitionMode::Replay:
    return replayRecord(step);
  case PartitionMode::MinCut:
    return cutMinimum(step);
  case PartitionMode::Budget:
    return keepBudget(step, costs);
  }
  llvm_unreachable("unknown mode");
}

/// A record may save what `tg.reshard` releases, decided later or elsewhere.
static LogicalResult verifyReplay(func::FuncOp func) {
  StepGraph graph(func.getBody().front());
  ParameterChains chains(func, graph);
  for (Value value : findCrossing(graph)) {
    if (!isReleased(func, chains, value))
      continue;
    BlockArgument parameter = chains.getParameter(value);
    InFlightDiagnostic diag = emitError(value.getLoc())
                              << "record saves gathered parameter \""
                              << getParameterName(func, parameter)
                              << "\" for backward, although its '"
                              << kReshardAttrName << "' is "
                              << getReshard(func, parameter);
    diag.attachNote(parameter.getLoc()) << "the parameter is declared here";
    return diag;
  }
  return success();
}

/// Lets backward compute what is not saved.
LogicalResult Partition::recompute(func::FuncOp func, const CostModel &model) {
  FailureOr<StepCosts> costs = StepCosts::create(getOperation(), model);
  if (failed(costs))
    return failure();
  if (mode == PartitionMode::Replay)
    preferRecord(func);
  // A record lists views itself, and PyTorch reads only the marks that users
  // set.
  if (mode != PartitionMode::Replay && !matchPyTorch) {
    markRecomputedChains(func);
    markRecomputedBits(func);
  }
  FailureOr<SavedValues> values = decide(func, *costs);
  if (failed(values))
    return failure();
  StepGraph graph(func.getBody().front());
  ParameterChains chains(func, graph);
  // Released parameters are gathered afterwards, perhaps in smaller groups. A
  // record knows nothing of that decision.
  bool releases = mode != PartitionMode::Replay;
  auto isCopied = [&](Value value) {
    return !values->contains(value) &&
           !(releases && isReleased(func, chains, value));
  };
  BackwardCopies copies(graph, isCopied, isCopied);
  copies.run();
  // Originals that only copies would read are erased: these values are computed
  // in backward alone, not twice.
  copies.eraseDeadOriginals();
  if (!releases)
    return verifyReplay(func);
  return regatherParameters(func);
}

/// What the option `saved` calls a result: the id of the operation and, if it
/// has several, the number of the result. What has no id is called by its
/// operation.
static std::string getRecordName(OpResult result) {
  Operation *op = result.getOwner();
  auto id = op->getAttrOfType<StringAttr>(kIdAttrName);
  std::string name = (id ? id.getValue() : op->getName().getStringRef()).str();
  if (op->getNumResults() > 1)
    name += ":" + std::to_string(result.getResultNumber());
  return name;
}

/// Counts what backward repeats in the end, and removes the numbers. An
/// operation that has left forward is computed only once.
LogicalResult Partition::countRepeated(func::FuncOp func,
                                       const CostModel &model) {
  FailureOr<StepCosts> costs = StepCosts::create(getOperation(), model);
  if (failed(costs))
    return failure();
  StepGraph graph(func.getBody().front());
  llvm::DenseSet<Attribute> forward;
  numRepeated = 0;
  repeatedFlops = repeatedSeconds = 0;
  for (auto [place, op] : llvm::enumerate(graph.getOps())) {
    Attribute number = op->removeAttr(kNumberAttrName);
    if (!number)
      continue;
    if (!graph.isBackward(place)) {
      forward.insert(number);
      continue;
    }
    if (!forward.contains(number))
      continue;
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    ++numRepeated;
    repeatedFlops += getOpCost(op).flops;
    repeatedSeconds += collective ? costs->getCollective(collective).seconds
                                  : costs->getComputeSeconds(op);
  }
  numRecomputed += numRepeated;
  recomputedFlops += static_cast<uint64_t>(repeatedFlops);
  return success();
}

/// Records and reports what is saved in the end.
void Partition::record(func::FuncOp func) {
  StepGraph graph(func.getBody().front());
  for (Operation *op : graph.getOps())
    op->removeAttr(kSavedResultsAttrName);
  SmallVector<Value> crossing = findCrossing(graph);
  int64_t crossingBytes = 0;
  for (Value value : crossing) {
    auto result = cast<OpResult>(value);
    Operation *op = result.getOwner();
    recordSaved(op, result.getResultNumber());
    int64_t bytes = getValueBytes(value);
    crossingBytes += bytes;
    remark::analysis(op->getLoc(),
                     remark::RemarkOpts::name("saved").category(DEBUG_TYPE))
        << remark::add("'{0}' is saved for backward", getRecordName(result))
        << remark::metric("bytes", bytes)
        << remark::metric("flops", getOpCost(op).flops);
  }
  numSaved += crossing.size();
  savedBytes += crossingBytes;
  remark::analysis(func.getLoc(),
                   remark::RemarkOpts::name("total").category(DEBUG_TYPE))
      << remark::metric("saved", crossing.size())
      << remark::metric("saved_bytes", crossingBytes)
      << remark::metric("recomputed", numRepeated)
      << remark::metric("recomputed_flops", repeatedFlops)
      << remark::metric("recomputed_seconds", repeatedSeconds);
}
