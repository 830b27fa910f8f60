//===- ReshardAfterForward.cpp - Release parameters after forward ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParameterRegathers.h"

#include "regather/Analysis/Modules/ModuleUnits.h"
#include "regather/Dialect/TG/Chains/CrossingValues.h"
#include "regather/Dialect/TG/Modules/ModulePattern.h"
#include "regather/Dialect/TG/Steps/Policies.h"
#include "regather/Dialect/TG/Steps/StepEntry.h"
#include "regather/Dialect/TG/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "tg-reshard-after-forward"

namespace regather::tg {
#define GEN_PASS_DEF_RESHARDAFTERFORWARDPASS
#include "regather/Dialect/TG/Transforms/Passes.h.inc"
} // namespace regather::tg

using namespace mlir;
using namespace regather;
using namespace regather::tg;

namespace {
/// A parameter that forward gathers.
struct GatheredParameter {
  BlockArgument argument;
  StringRef module;
  /// The gather that its first wait waits for, and the place of that wait.
  AllGatherOp gather;
  Location loc;
  /// Place of the first forward operation that computes with it.
  std::optional<unsigned> firstUse;
};

/// What is to become of a parameter, and why.
struct Decision {
  ReshardKind kind;
  std::string reason;
};

/// What lives on of one parameter from forward to backward.
struct Crossing {
  /// Bytes of gathered values, and of parts that groups gather from.
  int64_t bytes = 0, partBytes = 0;
  /// A gathered value that lives on and is marked so; null if there is none.
  Operation *marked = nullptr;
  /// True if backward has a gather of its own.
  bool isRegathered = false;
};
using Crossings = llvm::DenseMap<BlockArgument, Crossing>;

/// Gathered parameters, and bytes that live on of them, or no longer do.
struct Totals {
  int64_t kept = 0, keptBytes = 0;
  int64_t released = 0, releasedBytes = 0;
};

struct ReshardAfterForward
    : public regather::tg::impl::ReshardAfterForwardPassBase<
          ReshardAfterForward> {
  using ReshardAfterForwardPassBase::ReshardAfterForwardPassBase;

  void runOnOperation() override {
    if (failed(checkOptions()))
      return signalPassFailure();
    // What forward saves is decided.
    if (findStepParts(getOperation()))
      return;
    for (FunctionOpInterface func : getSteps(getOperation())) {
      if (failed(reshard(func)))
        return signalPassFailure();
    }
  }

private:
  LogicalResult checkOptions();
  LogicalResult reshard(FunctionOpInterface func);
  FailureOr<std::vector<Decision>>
  getDecisions(FunctionOpInterface func,
               ArrayRef<GatheredParameter> parameters);
  LogicalResult chooseGroups(ArrayRef<GatheredParameter> parameters,
                             MutableArrayRef<Decision> decisions);
  void mark(FunctionOpInterface func, BlockArgument parameter,
            Decision &decision);
  void report(FunctionOpInterface func, const GatheredParameter &parameter,
              const Decision &decision, const Crossing &before,
              const Crossing &after, Totals &totals);

  /// `modules`, taken apart.
  std::vector<std::string> patterns;
  std::vector<ReshardKind> patternKinds;
};
} // namespace

LogicalResult ReshardAfterForward::checkOptions() {
  if (group != 0 && group < 2)
    return emitError(getOperation().getLoc())
           << "'group' must be at least 2, got " << group.getValue();
  patterns.clear();
  patternKinds.clear();
  for (const std::string &text : modules) {
    auto [pattern, kind] = StringRef(text).rsplit(':');
    if (kind != "always" && kind != "never")
      return emitError(getOperation().getLoc())
             << "'modules' expects PATTERN:always or PATTERN:never, got \""
             << text << '"';
    patterns.push_back(pattern.str());
    patternKinds.push_back(kind == "always" ? ReshardKind::Always
                                            : ReshardKind::Never);
  }
  if (group != 0 && mode == ReshardMode::Never &&
      !llvm::is_contained(patternKinds, ReshardKind::Always))
    return emitError(getOperation().getLoc())
           << "'group' has no effect with 'mode=never', got "
           << group.getValue();
  return success();
}

/// What `value`, which is gathered, has come from: forward may read the views
/// and casts of a gather that itself is none of forward.
static AllGatherOp findGather(const ParameterChains &chains, Value value) {
  while (true) {
    Operation *op = value.getDefiningOp();
    if (auto wait = dyn_cast<WaitOp>(op))
      return wait.getFuture().getDefiningOp<AllGatherOp>();
    forEachInput(op, [&](Value input) {
      if (chains.isGathered(input))
        value = input;
    });
  }
}

/// The parameters that forward gathers, in the order of their gathers.
static std::vector<GatheredParameter> findGathered(FunctionOpInterface func) {
  StepGraph graph(func.getFunctionBody().front());
  ParameterChains chains(func, graph);
  std::vector<GatheredParameter> parameters;
  llvm::DenseMap<BlockArgument, unsigned> numbers;
  for (auto [number, op] : llvm::enumerate(graph.getOps())) {
    if (graph.isBackward(number))
      continue;
    for (Value value : op->getResults()) {
      if (!chains.isGathered(value))
        continue;
      AllGatherOp gather = findGather(chains, value);
      // Nothing of forward is released with what backward gathers.
      if (graph.isBackward(graph.getNumber(gather)))
        continue;
      BlockArgument argument = chains.getParameter(value);
      auto [it, inserted] = numbers.try_emplace(argument, parameters.size());
      if (inserted) {
        auto module = func.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                        kModuleAttrName);
        parameters.push_back({argument,
                              module ? module.getValue() : StringRef(), gather,
                              value.getLoc(), std::nullopt});
      }
      GatheredParameter &parameter = parameters[it->second];
      for (Operation *user : value.getUsers()) {
        if (user == graph.getBlock().getTerminator())
          continue;
        unsigned place = graph.getNumber(user);
        bool computes = user->getNumResults() == 0 ||
                        chains.getParameter(user->getResult(0)) != argument;
        if (computes && !graph.isBackward(place))
          parameter.firstUse =
              std::min(parameter.firstUse.value_or(place), place);
      }
    }
  }
  return parameters;
}

/// Numbers of the parameters of the unit that forward comes to last.
static SmallVector<unsigned>
findLastUnit(ArrayRef<GatheredParameter> parameters) {
  std::vector<ModuleUse> uses;
  for (const GatheredParameter &parameter : parameters)
    uses.push_back({parameter.module, parameter.firstUse});
  SmallVector<unsigned> last;
  std::optional<unsigned> lastUse;
  for (ModuleUnit &unit : findModuleUnits(uses)) {
    std::optional<unsigned> first;
    for (unsigned member : unit.members)
      if (std::optional<unsigned> use = uses[member].firstUse)
        first = std::min(first.value_or(*use), *use);
    if (!first || (lastUse && *first < *lastUse))
      continue;
    lastUse = first;
    last = std::move(unit.members);
  }
  return last;
}

FailureOr<std::vector<Decision>>
ReshardAfterForward::getDecisions(FunctionOpInterface func,
                                  ArrayRef<GatheredParameter> parameters) {
  SmallVector<StringRef> paths;
  for (const GatheredParameter &parameter : parameters)
    paths.push_back(parameter.module);
  FailureOr<std::vector<PatternMatch>> matches = matchPatterns(
      func, "modules", patterns, paths, "module of a gathered parameter");
  if (failed(matches))
    return failure();
  std::vector<Decision> decisions;
  for (const PatternMatch &match : *matches) {
    if (match.pattern)
      decisions.push_back({patternKinds[*match.pattern],
                           "\"" + patterns[*match.pattern] + "\" says so"});
    else if (mode == ReshardMode::Never)
      decisions.push_back({ReshardKind::Never, "the mode is never"});
    else
      decisions.push_back({ReshardKind::Always, "backward gathers it again"});
  }
  if (mode == ReshardMode::Default)
    for (unsigned last : findLastUnit(parameters))
      if (!(*matches)[last].pattern)
        decisions[last] = {ReshardKind::Never, "backward begins with its unit"};
  return decisions;
}

/// Lets backward gather in groups what more ranks than a group have gathered.
LogicalResult
ReshardAfterForward::chooseGroups(ArrayRef<GatheredParameter> parameters,
                                  MutableArrayRef<Decision> decisions) {
  AllGatherOp whole;
  bool anyGroup = false;
  for (auto [parameter, decision] : llvm::zip(parameters, decisions)) {
    if (decision.kind != ReshardKind::Always)
      continue;
    AllGatherOp gather = parameter.gather;
    MeshOp mesh = lookupMesh(gather, gather.getMeshAttr());
    if (mesh.getGroupSize(gather.getAxes()) == group) {
      whole = gather;
    } else {
      decision.kind = ReshardKind::Group;
      anyGroup = true;
    }
  }
  if (!whole || anyGroup)
    return success();
  return whole.emitError() << "'group' must be less than the "
                           << group.getValue() << " ranks that gather, got "
                           << group.getValue()
                           << "; without it, all of them gather again";
}

/// Writes `decision` down at `parameter`, or takes over what is written there.
void ReshardAfterForward::mark(FunctionOpInterface func,
                               BlockArgument parameter, Decision &decision) {
  if (ReshardAttr reshard = getReshard(func, parameter)) {
    decision = {reshard.getKind(), "it is marked so"};
    return;
  }
  int64_t ranks = decision.kind == ReshardKind::Group ? group.getValue() : 0;
  func.setArgAttr(parameter.getArgNumber(), kReshardAttrName,
                  ReshardAttr::get(func.getContext(), decision.kind, ranks));
}

/// What lives on, as the step stands.
static Crossings findCrossings(FunctionOpInterface func) {
  StepGraph graph(func.getFunctionBody().front());
  ParameterChains chains(func, graph);
  Crossings crossings;
  std::vector<CrossingValue> values = findCrossingValues(func, graph, chains);
  for (auto [parameter, bytes] : countGathered(values))
    crossings[parameter].bytes = bytes;
  for (const CrossingValue &crossing : values) {
    Operation *def = crossing.value.getDefiningOp();
    if (crossing.gathered) {
      if (isMarkedSaved(crossing.value))
        crossings[crossing.gathered].marked = def;
      continue;
    }
    BlockArgument parameter = chains.getParameter(crossing.value);
    bool isPart = false;
    forEachInput(def, [&](Value input) { isPart |= chains.isGathered(input); });
    if (parameter && isPart)
      crossings[parameter].partBytes += crossing.bytes;
  }
  for (auto [number, op] : llvm::enumerate(graph.getOps()))
    if (auto gather = dyn_cast<AllGatherOp>(op);
        gather && graph.isBackward(number))
      for (unsigned member : chains.getMembers(gather))
        crossings[chains.getParameter(gather.getInputs()[member])]
            .isRegathered = true;
  return crossings;
}

/// Why the parameter is kept or released, as far as the step itself shows.
static std::string getReason(const Decision &decision, const Crossing &before,
                             const Crossing &after) {
  if (after.bytes > 0 && decision.kind != ReshardKind::Never && after.marked) {
    Policy policy = getPolicy(after.marked).value();
    auto id = after.marked->getAttrOfType<StringAttr>(kIdAttrName);
    return llvm::formatv("'{0}' is marked {1}",
                         id ? id.getValue()
                            : after.marked->getName().getStringRef(),
                         stringifyPolicy(policy))
        .str();
  }
  if (before.bytes > 0)
    return decision.reason;
  return before.isRegathered ? "backward gathers it by itself"
                             : "backward does not read it";
}

void ReshardAfterForward::report(FunctionOpInterface func,
                                 const GatheredParameter &parameter,
                                 const Decision &decision,
                                 const Crossing &before, const Crossing &after,
                                 Totals &totals) {
  bool isKept = after.bytes > 0;
  std::string reason = getReason(decision, before, after);
  std::string name = getParameterName(func, parameter.argument);
  auto options = remark::RemarkOpts::name(isKept ? "kept" : "released")
                     .category(DEBUG_TYPE);
  int64_t kept = after.bytes + after.partBytes;
  int64_t released = std::max<int64_t>(before.bytes - after.bytes, 0);
  ++(isKept ? totals.kept : totals.released);
  totals.keptBytes += kept;
  totals.releasedBytes += released;
  (isKept ? remark::missed(parameter.loc, options)
          : remark::passed(parameter.loc, options))
      << remark::reason("\"{0}\" is {1} after forward: {2}", name,
                        isKept ? "kept" : "released", reason)
      << remark::metric("kept_bytes", kept)
      << remark::metric("released_bytes", released)
      << remark::metric("parameter", name) << remark::metric("why", reason);
}

LogicalResult ReshardAfterForward::reshard(FunctionOpInterface func) {
  std::vector<GatheredParameter> parameters = findGathered(func);
  FailureOr<std::vector<Decision>> decisions = getDecisions(func, parameters);
  if (failed(decisions) ||
      (group != 0 && failed(chooseGroups(parameters, *decisions))))
    return failure();
  for (auto [parameter, decision] : llvm::zip(parameters, *decisions))
    mark(func, parameter.argument, decision);
  Crossings before = findCrossings(func);
  FailureOr<Regathers> regathers = regatherParameters(func);
  if (failed(regathers))
    return failure();
  numGathers += regathers->gathers;
  numOps += regathers->ops;
  // Remarks describe the step as it is now.
  Crossings after = findCrossings(func);
  Totals totals;
  for (auto [parameter, decision] : llvm::zip(parameters, *decisions))
    report(func, parameter, decision, before.lookup(parameter.argument),
           after.lookup(parameter.argument), totals);
  numKept += totals.kept;
  numReleased += totals.released;
  if (!parameters.empty())
    remark::analysis(func.getLoc(),
                     remark::RemarkOpts::name("total").category(DEBUG_TYPE))
        << remark::metric("kept", totals.kept)
        << remark::metric("released", totals.released)
        << remark::metric("kept_bytes", totals.keptBytes)
        << remark::metric("released_bytes", totals.releasedBytes);
  return success();
}
