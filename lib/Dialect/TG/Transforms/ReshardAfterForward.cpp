//===- ReshardAfterForward.cpp - Release parameters after forward ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParameterRegathers.h"

#include "regather/Dialect/TG/Transforms/Passes.h"
#include "regather/Dialect/TG/Utils/ModulePattern.h"
#include "regather/Dialect/TG/Utils/ModuleUnits.h"
#include "regather/Dialect/TG/Utils/Policies.h"

#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "tg-reshard-after-forward"

namespace regather::tg {
#define GEN_PASS_DEF_RESHARDAFTERFORWARDPASS
#include "regather/Dialect/TG/Transforms/Passes.h.inc"
} // namespace regather::tg

using namespace mlir;
using namespace regather::tg;

namespace {
/// A parameter that forward gathers.
struct GatheredParameter {
  BlockArgument argument;
  StringRef module;
  /// What its wait, the first one, gives.
  Value gathered;
  /// Place of the first forward operation that computes with it.
  std::optional<unsigned> firstUse;
  /// Bytes of gathered values that backward reads.
  int64_t crossingBytes = 0;
  /// The same of values that a policy keeps.
  int64_t savedBytes = 0;
};

/// What becomes of a parameter, and why.
struct Decision {
  ReshardKind kind;
  std::string reason;
};

/// Gathered parameters, and bytes that backward reads of them.
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
    for (FunctionOpInterface func : getSteps(getOperation())) {
      if (failed(decide(func)))
        return signalPassFailure();
      FailureOr<Regathers> regathers = regatherParameters(func);
      if (failed(regathers))
        return signalPassFailure();
      numGathers += regathers->gathers;
      numOps += regathers->ops;
    }
  }

private:
  LogicalResult checkOptions();
  LogicalResult decide(FunctionOpInterface func);
  FailureOr<std::vector<Decision>>
  getDecisions(FunctionOpInterface func,
               ArrayRef<GatheredParameter> parameters);
  void record(FunctionOpInterface func, const GatheredParameter &parameter,
              const Decision &decision, Totals &totals);

  /// `modules`, taken apart.
  std::vector<std::string> patterns;
  std::vector<ReshardKind> patternKinds;
};
} // namespace

LogicalResult ReshardAfterForward::checkOptions() {
  if (group != 0 && group < 2)
    return getOperation().emitError()
           << "'group' must be at least 2, got " << group.getValue();
  patterns.clear();
  patternKinds.clear();
  for (const std::string &text : modules) {
    auto [pattern, kind] = StringRef(text).rsplit(':');
    if (kind != "always" && kind != "never")
      return getOperation().emitError()
             << "'modules' expects PATTERN:always or PATTERN:never, got \""
             << text << '"';
    patterns.push_back(pattern.str());
    patternKinds.push_back(kind == "always" ? ReshardKind::Always
                                            : ReshardKind::Never);
  }
  return success();
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
      BlockArgument argument = chains.getParameter(value);
      auto [it, inserted] = numbers.try_emplace(argument, parameters.size());
      if (inserted) {
        auto module = func.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                        kModuleAttrName);
        parameters.push_back({argument,
                              module ? module.getValue() : StringRef(), value,
                              std::nullopt});
      }
      GatheredParameter &parameter = parameters[it->second];
      bool crosses = false;
      for (Operation *user : value.getUsers()) {
        if (user == graph.getBlock().getTerminator())
          continue;
        unsigned place = graph.getNumber(user);
        crosses |= graph.isBackward(place);
        bool computes = user->getNumResults() == 0 ||
                        chains.getParameter(user->getResult(0)) != argument;
        if (computes && !graph.isBackward(place))
          parameter.firstUse =
              std::min(parameter.firstUse.value_or(place), place);
      }
      if (crosses)
        (isMarkedSaved(value) ? parameter.savedBytes
                              : parameter.crossingBytes) +=
            getValueBytes(value);
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

void ReshardAfterForward::record(FunctionOpInterface func,
                                 const GatheredParameter &parameter,
                                 const Decision &decision, Totals &totals) {
  unsigned number = parameter.argument.getArgNumber();
  ReshardAttr reshard = getReshard(func, parameter.argument);
  std::string reason = decision.reason;
  if (reshard) {
    reason = "it is marked so";
  } else {
    bool inGroup = group != 0 && decision.kind == ReshardKind::Always;
    reshard = ReshardAttr::get(func.getContext(),
                               inGroup ? ReshardKind::Group : decision.kind,
                               inGroup ? group.getValue() : 0);
    func.setArgAttr(number, kReshardAttrName, reshard);
  }
  bool isKept = reshard.getKind() == ReshardKind::Never;
  if (!isKept && parameter.crossingBytes == 0)
    reason = "backward does not read it";
  ++(isKept ? numKept : numReleased);
  std::string name = getParameterName(func, parameter.argument);
  Location loc = parameter.gathered.getLoc();
  auto options = remark::RemarkOpts::name(isKept ? "kept" : "released")
                     .category(DEBUG_TYPE);
  int64_t kept = parameter.savedBytes + (isKept ? parameter.crossingBytes : 0);
  int64_t released = isKept ? 0 : parameter.crossingBytes;
  ++(isKept ? totals.kept : totals.released);
  totals.keptBytes += kept;
  totals.releasedBytes += released;
  (isKept ? remark::missed(loc, options) : remark::passed(loc, options))
      << remark::reason("\"{0}\" is {1} after forward: {2}", name,
                        isKept ? "kept" : "released", reason)
      << remark::metric("kept_bytes", kept)
      << remark::metric("released_bytes", released)
      << remark::metric("parameter", name) << remark::metric("why", reason);
}

LogicalResult ReshardAfterForward::decide(FunctionOpInterface func) {
  std::vector<GatheredParameter> parameters = findGathered(func);
  FailureOr<std::vector<Decision>> decisions = getDecisions(func, parameters);
  if (failed(decisions))
    return failure();
  Totals totals;
  for (auto [parameter, decision] : llvm::zip(parameters, *decisions))
    record(func, parameter, decision, totals);
  if (!parameters.empty())
    remark::analysis(func.getLoc(),
                     remark::RemarkOpts::name("total").category(DEBUG_TYPE))
        << remark::metric("kept", totals.kept)
        << remark::metric("released", totals.released)
        << remark::metric("kept_bytes", totals.keptBytes)
        << remark::metric("released_bytes", totals.releasedBytes);
  return success();
}
