//===- PhaseInference.cpp - Phases from what needs an operation -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   forward   = what the loss and marked operations of forward need
//   after     = marked operations behind forward, what makes a returned
//               gradient, and what reads such a value
//   forward  += what results need that are no gradients or updates of the
//               optimizer, and not after
//   backward  = what gradients and marked operations behind forward need
//   optimizer = what updates need
//
// Each is one walk over the operations, up or down. What comes first stays.
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Steps/PhaseInference.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

namespace {
class PhaseInference {
public:
  PhaseInference(FunctionOpInterface func, const StepGraph &graph);
  InferredPhases run();

private:
  using Flags = std::vector<bool>;

  Operation *getTerminator() const { return graph.getBlock().getTerminator(); }
  RoleAttr getResultRole(unsigned result) const;
  RoleKind getUpdatedKind(RoleAttr update) const;
  bool isOfOptimizer(RoleAttr role) const;
  std::optional<unsigned> getDefiner(Value value) const;
  void markResults(Flags &flags, function_ref<bool(RoleAttr, Value)> isChosen);
  void spreadUp(Flags &flags, Phase phase);
  void findAfter();
  Flags findUpdated();
  void followOperands();

  FunctionOpInterface func;
  const StepGraph &graph;
  /// By operation, what it is marked as.
  std::vector<std::optional<Phase>> marks;
  /// By operation, what is known so far.
  std::vector<std::optional<Phase>> known;
  /// Operations that have been found to depend on a gradient, or to make one.
  Flags after;
  InferredPhases result;
};
} // namespace

PhaseInference::PhaseInference(FunctionOpInterface func, const StepGraph &graph)
    : func(func), graph(graph), after(graph.getOps().size()) {
  for (Operation *op : graph.getOps()) {
    auto wait = dyn_cast<WaitOp>(op);
    Operation *collective = wait ? wait.getFuture().getDefiningOp() : nullptr;
    marks.push_back(getPhase(collective ? collective : op));
  }
  known = marks;
}

RoleAttr PhaseInference::getResultRole(unsigned result) const {
  auto mutableFunc = func;
  return mutableFunc.getResultAttrOfType<RoleAttr>(result, kRoleAttrName);
}

/// The role of the argument that is updated.
RoleKind PhaseInference::getUpdatedKind(RoleAttr update) const {
  auto mutableFunc = func;
  auto role = mutableFunc.getArgAttrOfType<RoleAttr>(update.getArgument(),
                                                     kRoleAttrName);
  return role ? role.getKind() : RoleKind::Buffer;
}

/// True for the updates that an optimizer makes. Forward updates buffers.
bool PhaseInference::isOfOptimizer(RoleAttr role) const {
  if (!role || role.getKind() != RoleKind::Update)
    return false;
  RoleKind kind = getUpdatedKind(role);
  return kind == RoleKind::Parameter || kind == RoleKind::OptimizerState ||
         kind == RoleKind::Step;
}

std::optional<unsigned> PhaseInference::getDefiner(Value value) const {
  Operation *def = value.getDefiningOp();
  return def ? std::optional(graph.getNumber(def)) : std::nullopt;
}

/// Sets the flags of what makes the results of the step that are chosen.
void PhaseInference::markResults(Flags &flags,
                                 function_ref<bool(RoleAttr, Value)> isChosen) {
  for (auto [i, value] : llvm::enumerate(getTerminator()->getOperands()))
    if (std::optional<unsigned> number = getDefiner(value);
        number && isChosen(getResultRole(i), value))
      flags[*number] = true;
}

/// Gives `phase` to what has a flag, and to what that needs, unless it has one.
void PhaseInference::spreadUp(Flags &flags, Phase phase) {
  for (unsigned number = flags.size(); number-- != 0;) {
    if (!flags[number])
      continue;
    if (!known[number])
      known[number] = phase;
    forEachInput(graph.getOps()[number], [&](Value input) {
      std::optional<unsigned> definer = getDefiner(input);
      if (definer && !known[*definer])
        flags[*definer] = true;
    });
  }
}

void PhaseInference::findAfter() {
  markResults(after, [](RoleAttr role, Value) {
    return role && role.getKind() == RoleKind::Gradient;
  });
  for (auto [number, op] : llvm::enumerate(graph.getOps())) {
    if (known[number]) {
      after[number] = known[number] != Phase::Forward;
      continue;
    }
    forEachInput(op, [&, number = number](Value input) {
      std::optional<unsigned> definer = getDefiner(input);
      if (definer && after[*definer])
        after[number] = true;
    });
  }
}

/// What makes updates of the optimizer. Notes a parameter of which the step
/// does not show a gradient.
PhaseInference::Flags PhaseInference::findUpdated() {
  llvm::DenseSet<int64_t> hasGradient;
  for (unsigned i = 0, e = getTerminator()->getNumOperands(); i != e; ++i)
    if (RoleAttr role = getResultRole(i);
        role && role.getKind() == RoleKind::Gradient)
      hasGradient.insert(role.getArgument());
  Flags updated(graph.getOps().size());
  markResults(updated, [&](RoleAttr role, Value value) {
    if (!isOfOptimizer(role))
      return false;
    unsigned number = *getDefiner(value);
    if (!known[number] && !after[number] && !result.undecidedUpdate &&
        !hasGradient.contains(role.getArgument()) &&
        getUpdatedKind(role) == RoleKind::Parameter)
      result.undecidedUpdate = role.getArgument();
    return true;
  });
  return updated;
}

/// What nobody needs comes with the last of what it reads.
void PhaseInference::followOperands() {
  for (auto [number, op] : llvm::enumerate(graph.getOps())) {
    Phase last = Phase::Forward;
    forEachInput(op, [&](Value input) {
      if (std::optional<unsigned> definer = getDefiner(input))
        last = std::max(last, result.phases[*definer]);
    });
    result.phases.push_back(known[number].value_or(last));
  }
}

InferredPhases PhaseInference::run() {
  Flags flags(marks.size());
  for (auto [number, mark] : llvm::enumerate(marks))
    flags[number] = mark == Phase::Forward;
  markResults(flags, [](RoleAttr role, Value) {
    return role && role.getKind() == RoleKind::Loss;
  });
  spreadUp(flags, Phase::Forward);
  findAfter();

  flags.assign(marks.size(), false);
  markResults(flags, [&](RoleAttr role, Value value) {
    return !after[*getDefiner(value)] && !isOfOptimizer(role) &&
           !(role && role.getKind() == RoleKind::Gradient);
  });
  spreadUp(flags, Phase::Forward);

  for (auto [number, mark] : llvm::enumerate(marks))
    flags[number] = mark && mark != Phase::Forward;
  markResults(flags, [](RoleAttr role, Value) {
    return role && role.getKind() == RoleKind::Gradient;
  });
  spreadUp(flags, Phase::Backward);

  flags = findUpdated();
  spreadUp(flags, Phase::Optimizer);
  followOperands();
  return std::move(result);
}

InferredPhases regather::tg::inferPhases(FunctionOpInterface func,
                                         const StepGraph &graph) {
  return PhaseInference(func, graph).run();
}
