//===- ApplyPolicy.cpp - Mark what to save and what to recompute ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParameterRegathers.h"
#include "Partition/BudgetPlan.h"

#include "regather/Analysis/Modules/ModuleUnits.h"
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
/// The checkpointed unit of an operation, and the plan for it.
struct Plan {
  StringRef unit;
  PolicyPlan plan = PolicyPlan::None;
};

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
  FailureOr<std::vector<Plan>> getPlans(FunctionOpInterface func,
                                        const StepGraph &graph);
  bool isSavedBySelection(Operation *op);
  LogicalResult applyBudget(FunctionOpInterface func, const StepGraph &graph,
                            const ParameterChains &chains);
  void mark(Operation *op, bool isSaved);
  void report(FunctionOpInterface func);
  LogicalResult checkSaveList(FunctionOpInterface func);

  /// `modules` and `save`, parsed.
  std::vector<std::string> patterns;
  std::vector<PolicyPlan> patternPlans;
  SmallVector<llvm::GlobPattern> saved;
  /// Which entries of `save` have named an operation.
  std::vector<bool> used;
  /// Library calls met so far, for every-second-product.
  int64_t numCalls = 0;
  /// Marks given in the step at hand.
  int64_t savedHere = 0, recomputedHere = 0;
};
} // namespace

LogicalResult ApplyPolicy::parseOptions() {
  patterns.clear();
  patternPlans.clear();
  saved.clear();
  if (budget >= 0 && (policy != PolicyPlan::None || !modules.empty() ||
                      !save.empty() || everySecondProduct))
    return emitError(getOperation().getLoc())
           << "option 'budget' is a plan for all of forward; no other one can "
              "be given with it";
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
    patternPlans.push_back(*kind);
  }
  if (budget < 0 && cluster != ApplyPolicyPassOptions().cluster)
    return emitError(getOperation().getLoc())
           << "'cluster' has no effect without 'budget'";
  bool selects = policy == PolicyPlan::Selective ||
                 llvm::is_contained(patternPlans, PolicyPlan::Selective);
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

/// The plan of each operation, by number. Backward has none.
FailureOr<std::vector<Plan>> ApplyPolicy::getPlans(FunctionOpInterface func,
                                                   const StepGraph &graph) {
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

  ModuleBlocks blocks(paths);
  bool hasBlocks = llvm::any_of(
      paths, [&](StringRef path) { return !blocks.getBlock(path).empty(); });
  std::vector<Plan> plans(graph.getOps().size());
  for (auto [path, match] : llvm::zip_equal(paths, *matches)) {
    Plan plan{hasBlocks ? blocks.getBlock(path) : blocks.getSibling(path),
              policy};
    if (match.pattern)
      plan = {match.prefix, patternPlans[*match.pattern]};
    if (plan.unit.empty())
      plan.plan = PolicyPlan::None;
    for (unsigned number : byModule[path])
      plans[number] = plan;
  }
  return plans;
}

/// True if forward reads a result of `op` outside of its unit: the value goes
/// on to the next unit.
static bool leavesUnit(Operation *op, ArrayRef<Plan> plans,
                       const StepGraph &graph) {
  StringRef unit = plans[graph.getNumber(op)].unit;
  if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
    WaitOp wait = getWait(collective);
    if (!wait)
      return false;
    op = wait;
  }
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    if (user == graph.getBlock().getTerminator())
      return true;
    unsigned number = graph.getNumber(user);
    return !graph.isBackward(number) &&
           (plans[number].plan == PolicyPlan::None ||
            plans[number].unit != unit);
  });
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
    // What has to be saved or gathered again needs no mark.
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
  FailureOr<std::vector<Plan>> plans = getPlans(func, graph);
  if (failed(plans))
    return failure();
  used.assign(saved.size(), false);
  numCalls = 0;
  for (auto [number, op] : llvm::enumerate(graph.getOps())) {
    PolicyPlan plan = (*plans)[number].plan;
    // A wait follows its collective. Gathers of parameters follow tg.reshard.
    if (plan == PolicyPlan::None || isa<WaitOp>(op) || op->getNumResults() == 0)
      continue;
    auto gather = dyn_cast<AllGatherOp>(op);
    if (chains.getParameter(op->getResult(0)) ||
        chains.isConstant(op->getResult(0)) ||
        (gather && !chains.getMembers(gather).empty()))
      continue;
    bool isSaved = plan == PolicyPlan::Selective && isSavedBySelection(op);
    isSaved |= !isRepeatable(op) || leavesUnit(op, *plans, graph);
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    WaitOp wait = collective ? getWait(collective) : nullptr;
    if (op->hasAttr(kPolicyAttrName) ||
        (wait && wait->hasAttr(kPolicyAttrName)))
      continue;
    mark(op, isSaved);
  }
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
