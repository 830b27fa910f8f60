//===- ApplyPolicy.cpp - Mark what to save and what to recompute ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParameterRegathers.h"
#include "Partition/BudgetPlan.h"

#include "regather/Analysis/Recomputation/UnitPlans.h"
#include "regather/Dialect/TG/Chains/ParameterChains.h"
#include "regather/Dialect/TG/Modules/ModulePattern.h"
#include "regather/Dialect/TG/Steps/Policies.h"
#include "regather/Dialect/TG/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/GlobPattern.h"

#define DEBUG_TYPE "tg-apply-policy"

namespace regather::tg {
#define GEN_PASS_DEF_APPLYPOLICYPASS
#include "regather/Dialect/TG/Transforms/Passes.h.inc"
} // namespace regather::tg

using namespace mlir;
using namespace regather;
using namespace regather::tg;

namespace {
struct ApplyPolicy
    : public regather::tg::impl::ApplyPolicyPassBase<ApplyPolicy> {
  using ApplyPolicyPassBase::ApplyPolicyPassBase;

  void runOnOperation() override {
    if (failed(parseOptions()))
      return signalPassFailure();
    for (FunctionOpInterface func : getSteps(getOperation()))
      if (failed(apply(func)))
        return signalPassFailure();
  }

private:
  LogicalResult parseOptions();
  LogicalResult apply(FunctionOpInterface func);
  LogicalResult checkUnits();
  FailureOr<std::vector<CheckpointNode>> getPlans(FunctionOpInterface func,
                                                  const StepGraph &graph);
  bool isSavedBySelection(Operation *op);
  LogicalResult applyBudget(FunctionOpInterface func, const StepGraph &graph,
                            const ParameterChains &chains);
  void mark(Operation *op, bool isSaved);
  void report(FunctionOpInterface func);
  LogicalResult checkSaveList(FunctionOpInterface func);

  /// `modules`, `units`, `others` and `save`, parsed.
  std::vector<std::string> patterns;
  UnitPlans plans;
  SmallVector<llvm::GlobPattern> saved;
  /// Which entries of `save` have named an operation.
  std::vector<bool> used;
  /// Library calls met so far, for every-second-product.
  int64_t numCalls = 0;
  /// Marks given in the step at hand.
  int64_t savedHere = 0, recomputedHere = 0;
};
} // namespace

static CheckpointPlan getPlan(PolicyPlan plan) {
  switch (plan) {
  case PolicyPlan::None:
    return CheckpointPlan::None;
  case PolicyPlan::Full:
    return CheckpointPlan::Full;
  case PolicyPlan::Selective:
    return CheckpointPlan::Selective;
  }
  llvm_unreachable("unknown plan");
}

/// Reads `policy`, `units` and `others`.
LogicalResult ApplyPolicy::checkUnits() {
  plans.plan = getPlan(policy);
  plans.others = getPlan(others);
  if (units >= 0)
    plans.numFirst = units;
  Location loc = getOperation().getLoc();
  if (units < -1)
    return emitError(loc) << "'units' expects a number of units, got "
                          << units.getValue();
  if (units >= 0 && policy == PolicyPlan::None)
    return emitError(loc) << "'units' has no effect without 'policy'";
  if (units < 0 && others != PolicyPlan::None)
    return emitError(loc) << "'others' has no effect without 'units'";
  return success();
}

LogicalResult ApplyPolicy::parseOptions() {
  patterns.clear();
  plans = UnitPlans();
  saved.clear();
  if (budget >= 0 &&
      (policy != PolicyPlan::None || !modules.empty() || !save.empty() ||
       everySecondProduct || units >= 0 || others != PolicyPlan::None))
    return emitError(getOperation().getLoc())
           << "option 'budget' is a plan for all of forward; no other one can "
              "be given with it";
  if (failed(checkUnits()))
    return failure();
  for (const std::string &text : modules) {
    auto [pattern, name] = StringRef(text).rsplit(':');
    auto kind = llvm::StringSwitch<std::optional<PolicyPlan>>(name)
                    .Case("none", PolicyPlan::None)
                    .Case("full", PolicyPlan::Full)
                    .Case("selective", PolicyPlan::Selective)
                    .Default(std::nullopt);
    if (!kind)
      return emitError(getOperation().getLoc())
             << "'modules' expects PATTERN:none, PATTERN:full or "
                "PATTERN:selective, got \""
             << text << '"';
    patterns.push_back(pattern.str());
    plans.ofPatterns.push_back(getPlan(*kind));
  }
  if (budget < 0 && cluster != ApplyPolicyPassOptions().cluster)
    return emitError(getOperation().getLoc())
           << "'cluster' has no effect without 'budget'";
  bool selects =
      policy == PolicyPlan::Selective || others == PolicyPlan::Selective ||
      llvm::is_contained(plans.ofPatterns, CheckpointPlan::Selective);
  if (everySecondProduct && !(selects && save.empty()))
    return emitError(getOperation().getLoc())
           << "'every-second-product' has no effect "
           << (selects ? "with 'save', which lists what is saved"
                       : "without 'policy=selective'");
  for (const std::string &text : save) {
    llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(text);
    if (!glob)
      return emitError(getOperation().getLoc())
             << "pattern \"" << text << "\" of option 'save' is malformed: "
             << llvm::toString(glob.takeError());
    saved.push_back(std::move(*glob));
  }
  return success();
}

/// The name that `save` lists: the target of a node, or the operation's.
static StringRef getTarget(Operation *op) {
  auto node = dyn_cast<NodeOp>(op);
  return node ? node.getTarget() : op->getName().getStringRef();
}

static bool isLibraryCall(Operation *op) {
  auto costed = dyn_cast<CostOpInterface>(op);
  return costed && costed.isLibraryCall();
}

/// True if the results are much smaller than what is read to compute them.
static bool isReduction(Operation *op) {
  OpCost cost = getOpCost(op);
  return !cost.view && 4 * cost.writtenBytes < cost.readBytes;
}

bool ApplyPolicy::isSavedBySelection(Operation *op) {
  if (!saved.empty()) {
    bool any = false;
    for (auto [i, glob] : llvm::enumerate(saved)) {
      if (!glob.match(getTarget(op)))
        continue;
      used[i] = true;
      any = true;
    }
    return any;
  }
  if (isa<CollectiveOpInterface>(op))
    return true;
  if (isLibraryCall(op))
    return !everySecondProduct || numCalls++ % 2 == 0;
  return isReduction(op);
}

/// The unit and plan of each operation, by number. Backward has none.
FailureOr<std::vector<CheckpointNode>>
ApplyPolicy::getPlans(FunctionOpInterface func, const StepGraph &graph) {
  llvm::MapVector<StringRef, SmallVector<unsigned>> byModule;
  for (auto [number, op] : llvm::enumerate(graph.getOps()))
    if (auto module = op->getAttrOfType<StringAttr>(kModuleAttrName);
        module && !module.empty() && !graph.isBackward(number))
      byModule[module.getValue()].push_back(number);
  SmallVector<StringRef> paths;
  for (const auto &entry : byModule)
    paths.push_back(entry.first);
  FailureOr<std::vector<PatternMatch>> matches =
      matchPatterns(func, "modules", patterns, paths, "module of forward");
  if (failed(matches))
    return failure();

  PlannedModules planned = planUnits(paths, *matches, plans);
  if (planned.failure)
    return emitError(func.getLoc()) << planned.failure.getMessage();
  std::vector<CheckpointNode> nodes(graph.getOps().size());
  for (auto [path, node] : llvm::zip_equal(paths, planned.nodes))
    for (unsigned number : byModule[path])
      nodes[number] = node;
  return nodes;
}

/// The operations of forward that read results of `op`. What a collective gives
/// is read behind its wait.
static std::vector<uint32_t> findReaders(Operation *op,
                                         const StepGraph &graph) {
  if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
    WaitOp wait = getWait(collective);
    if (!wait)
      return {};
    op = wait;
  }
  std::vector<uint32_t> readers;
  for (Operation *user : op->getUsers())
    if (user != graph.getBlock().getTerminator() &&
        !graph.isBackward(graph.getNumber(user)))
      readers.push_back(graph.getNumber(user));
  return readers;
}

static bool isReturned(Operation *op, const StepGraph &graph) {
  if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    if (WaitOp wait = getWait(collective))
      op = wait;
  return llvm::is_contained(op->getUsers(), graph.getBlock().getTerminator());
}

/// A wait follows its collective. Gathers of parameters follow tg.reshard.
static bool isExempt(Operation *op, const ParameterChains &chains) {
  if (isa<WaitOp>(op) || op->getNumResults() == 0)
    return true;
  auto gather = dyn_cast<AllGatherOp>(op);
  return chains.getParameter(op->getResult(0)) ||
         chains.isConstant(op->getResult(0)) ||
         (gather && !chains.getMembers(gather).empty());
}

void ApplyPolicy::mark(Operation *op, bool isSaved) {
  op->setAttr(kPolicyAttrName, PolicyAttr::get(&getContext(),
                                               isSaved ? Policy::MustSave
                                                       : Policy::MustRecompute,
                                               /*planned=*/true));
  ++(isSaved ? savedHere : recomputedHere);
}

void ApplyPolicy::report(FunctionOpInterface func) {
  numSaved += savedHere;
  numRecomputed += recomputedHere;
  if (savedHere + recomputedHere > 0)
    remark::analysis(func.getLoc(),
                     remark::RemarkOpts::name("policies").category(DEBUG_TYPE))
        << remark::metric("saved", savedHere)
        << remark::metric("recomputed", recomputedHere);
}

LogicalResult ApplyPolicy::applyBudget(FunctionOpInterface func,
                                       const StepGraph &graph,
                                       const ParameterChains &chains) {
  FailureOr<CostModel> model = partition::loadCostModel(func, cluster);
  if (failed(model))
    return failure();
  FailureOr<StepCosts> costs = StepCosts::create(getOperation(), *model);
  if (failed(costs))
    return failure();
  FailureOr<partition::BudgetPlan> plan =
      partition::saveWithinBudget({func, graph, chains}, budget, *costs);
  if (failed(plan))
    return failure();
  for (Operation *op : graph.getOps()) {
    auto wait = dyn_cast<WaitOp>(op);
    Operation *marked = wait ? wait.getFuture().getDefiningOp() : op;
    // A value that has to be saved or gathered again anyway needs no mark.
    if (op->getNumResults() == 0 || getPolicy(op) || !isRepeatable(op) ||
        chains.isConstant(op->getResult(0)) ||
        isReleased(func, chains, op->getResult(0)))
      continue;
    bool isSaved = llvm::any_of(op->getResults(), [&](Value result) {
      return plan->saved.contains(result);
    });
    if (isSaved || plan->recomputed.contains(op))
      mark(marked, isSaved);
  }
  report(func);
  return success();
}

LogicalResult ApplyPolicy::apply(FunctionOpInterface func) {
  StepGraph graph(func.getFunctionBody().front());
  ParameterChains chains(func, graph);
  savedHere = recomputedHere = 0;
  if (budget >= 0)
    return applyBudget(func, graph, chains);
  FailureOr<std::vector<CheckpointNode>> nodes = getPlans(func, graph);
  if (failed(nodes))
    return failure();
  used.assign(saved.size(), false);
  numCalls = 0;
  std::vector<std::vector<uint32_t>> readers(nodes->size());
  for (auto [number, op] : llvm::enumerate(graph.getOps())) {
    CheckpointNode &node = (*nodes)[number];
    node.isExempt = isExempt(op, chains);
    if (node.plan == CheckpointPlan::None || node.isExempt)
      continue;
    node.isSelected =
        node.plan == CheckpointPlan::Selective && isSavedBySelection(op);
    node.isRepeatable = isRepeatable(op);
    node.isReturned = isReturned(op, graph);
    // What is marked already counts for the selection, and keeps its mark.
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    WaitOp wait = collective ? getWait(collective) : nullptr;
    node.isExempt = op->hasAttr(kPolicyAttrName) ||
                    (wait && wait->hasAttr(kPolicyAttrName));
    readers[number] = findReaders(op, graph);
  }
  for (auto [op, isSaved] :
       llvm::zip_equal(graph.getOps(), markCheckpoints(*nodes, readers)))
    if (isSaved)
      mark(op, *isSaved);
  report(func);
  return checkSaveList(func);
}

LogicalResult ApplyPolicy::checkSaveList(FunctionOpInterface func) {
  for (auto [i, isUsed] : llvm::enumerate(used))
    if (!isUsed)
      return emitError(func.getLoc())
             << "pattern \"" << save[i]
             << "\" of option 'save' matches no operation "
                "whose policy is selective";
  return success();
}
