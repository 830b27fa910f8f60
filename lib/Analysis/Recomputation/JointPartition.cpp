//===- JointPartition.cpp - What a joint graph saves ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Recomputation/JointPartition.h"

#include "regather/Support/LLVM/MakeFailure.h"

#include "regather/Analysis/Recomputation/RecomputationPlanner.h"
#include "regather/Analysis/Recomputation/SavingCut.h"

#include "llvm/ADT/STLExtras.h"

using namespace regather;
using Kind = JointNode::Kind;
using Mark = JointNode::Mark;

namespace {
/// Which nodes are forward to us, and what backward reads of them.
class Joint {
public:
  explicit Joint(llvm::ArrayRef<JointNode> graph);

  bool isBackward(uint32_t node) const { return inBackward[node]; }
  /// Forward reads it, or returns it, or it has effects.
  bool isKept(uint32_t node) const { return kept[node]; }
  /// Made of nothing but constants: never saved.
  bool isConstant(uint32_t node) const { return constant[node]; }
  /// A value of forward that is not an argument.
  bool isValue(uint32_t node) const {
    return !inBackward[node] && graph[node].kind != Kind::Argument;
  }
  /// Values of forward that backward reads.
  llvm::ArrayRef<uint32_t> getNeeded() const { return needed; }

  bool maySave(uint32_t node) const {
    return !graph[node].isTuple && graph[node].mark != Mark::Recompute &&
           !constant[node];
  }
  /// Whether a node may be computed again, whatever that costs.
  bool mayRecompute(uint32_t node) const;

  /// Adds the arguments that backward needs beside what is saved. Fails if it
  /// needs a value that is neither saved nor can be computed again.
  Result<SavedNodes> complete(SavedNodes isSaved) const;

private:
  void findNeeded();

  llvm::ArrayRef<JointNode> graph;
  std::vector<bool> inBackward, kept, constant;
  std::vector<uint32_t> needed;
};
} // namespace

Joint::Joint(llvm::ArrayRef<JointNode> graph)
    : graph(graph), inBackward(graph.size()), kept(graph.size()),
      constant(graph.size()) {
  for (uint32_t node = 0, e = graph.size(); node != e; ++node) {
    const JointNode &joint = graph[node];
    auto isInBackward = [&](uint32_t input) { return inBackward[input]; };
    auto isConstantInput = [&](uint32_t input) { return constant[input]; };
    inBackward[node] =
        joint.kind == Kind::Tangent || llvm::any_of(joint.inputs, isInBackward);
    constant[node] = (joint.kind == Kind::Call || joint.kind == Kind::Item) &&
                     joint.mark != Mark::Save && !joint.isUnrepeatable &&
                     !joint.hasEffects &&
                     llvm::all_of(joint.inputs, isConstantInput);
  }
  for (uint32_t node = graph.size(); node-- > 0;) {
    const JointNode &joint = graph[node];
    if (inBackward[node])
      continue;
    if (joint.hasEffects || (joint.isReturned && !joint.isReturnedByBackward))
      kept[node] = true;
    if (kept[node])
      for (uint32_t input : joint.inputs)
        kept[input] = true;
  }
  findNeeded();
}

/// Operations of backward that nobody reads need nothing.
void Joint::findNeeded() {
  std::vector<bool> isLive(graph.size());
  for (uint32_t node = graph.size(); node-- > 0;) {
    const JointNode &joint = graph[node];
    bool isRoot =
        joint.isReturnedByBackward || (inBackward[node] && joint.hasEffects);
    if (!isLive[node] && !isRoot)
      continue;
    if (!inBackward[node]) {
      needed.push_back(node);
      continue;
    }
    for (uint32_t input : joint.inputs)
      isLive[input] = true;
  }
}

bool Joint::mayRecompute(uint32_t node) const {
  const JointNode &joint = graph[node];
  if (joint.mark == Mark::Recompute || joint.mark == Mark::PreferRecompute)
    return true;
  // An operation that forward does not need moves to backward instead of
  // running twice.
  if (!kept[node] && !joint.hasEffects)
    return true;
  return joint.mark != Mark::Save && !joint.isUnrepeatable && !joint.hasEffects;
}

Result<SavedNodes> Joint::complete(SavedNodes isSaved) const {
  std::vector<bool> isLive(graph.size());
  for (uint32_t node : needed)
    isLive[node] = true;
  for (uint32_t node = graph.size(); node-- > 0;) {
    if (!isLive[node] || isSaved[node])
      continue;
    if (graph[node].kind == Kind::Argument) {
      isSaved[node] = true;
      continue;
    }
    if (!mayRecompute(node))
      return makeFailure("node {0} is needed by backward, but can be neither "
                         "saved nor computed again",
                         node);
    for (uint32_t input : graph[node].inputs)
      isLive[input] = true;
  }
  return isSaved;
}

Result<SavedNodes> regather::saveAll(llvm::ArrayRef<JointNode> graph) {
  Joint joint(graph);
  SavedNodes isSaved(graph.size());
  for (uint32_t node = 0, e = graph.size(); node != e; ++node)
    isSaved[node] = joint.isValue(node) && joint.maySave(node);
  return joint.complete(std::move(isSaved));
}

Result<SavedNodes> regather::replaySaved(llvm::ArrayRef<JointNode> graph,
                                         llvm::ArrayRef<uint32_t> record) {
  Joint joint(graph);
  SavedNodes isSaved(graph.size());
  for (uint32_t node : record)
    isSaved[node] = true;
  for (uint32_t node = 0, e = graph.size(); node != e; ++node) {
    bool isForced = joint.isValue(node) && (graph[node].mark == Mark::Save ||
                                            !joint.mayRecompute(node));
    isSaved[node] = (isSaved[node] || isForced) && joint.maySave(node) &&
                    !joint.isBackward(node);
  }
  return joint.complete(std::move(isSaved));
}

/// True for views, operations that fuse, and those that write about as much as
/// they read.
static bool isCheap(const JointNode &node) {
  return node.kind == Kind::Item ||
         (!node.isLibraryCall &&
          isCheapAgain(node.isView, static_cast<double>(node.bytes),
                       static_cast<double>(node.inputBytes)));
}

Result<SavedNodes> regather::saveFewestBytes(llvm::ArrayRef<JointNode> graph) {
  Joint joint(graph);
  SavingProblem problem;
  std::vector<uint32_t> numbers(graph.size()), nodes;
  for (uint32_t node = 0, e = graph.size(); node != e; ++node) {
    if (!joint.isValue(node))
      continue;
    const JointNode &call = graph[node];
    bool isMarked =
        call.mark == Mark::Recompute || call.mark == Mark::PreferRecompute;
    SavingProblem::Op op;
    op.mayRecompute =
        joint.mayRecompute(node) && (isMarked || joint.isConstant(node) ||
                                     !joint.isKept(node) || isCheap(call));
    for (uint32_t input : call.inputs)
      if (joint.isValue(input))
        op.inputs.push_back(numbers[input]);
    SavingPreference preference =
        call.mark == Mark::PreferSave        ? SavingPreference::Save
        : call.mark == Mark::PreferRecompute ? SavingPreference::Recompute
                                             : SavingPreference::None;
    numbers[node] = problem.ops.size();
    nodes.push_back(node);
    problem.values.push_back(
        {numbers[node], joint.maySave(node)
                            ? getSavingCost(call.bytes, preference)
                            : kInfiniteCapacity});
    problem.ops.push_back(std::move(op));
  }
  for (uint32_t node : joint.getNeeded())
    if (joint.isValue(node))
      problem.needed.push_back(numbers[node]);
  Result<SavingCut> cut = cutSavings(problem);
  if (!cut)
    return cut.getFailure();
  SavedNodes isSaved(graph.size());
  for (auto [value, node] : llvm::enumerate(nodes))
    isSaved[node] = cut->isSaved[value];
  return joint.complete(std::move(isSaved));
}

Result<SavedNodes> regather::saveWithinBudget(llvm::ArrayRef<JointNode> graph,
                                              llvm::ArrayRef<double> seconds,
                                              int64_t budget) {
  Joint joint(graph);
  std::vector<bool> isNeeded(graph.size());
  for (uint32_t node : joint.getNeeded())
    isNeeded[node] = true;
  RecomputationProblem problem;
  std::vector<uint32_t> numbers(graph.size()), nodes;
  for (uint32_t node = 0, e = graph.size(); node != e; ++node) {
    if (!joint.isValue(node))
      continue;
    std::vector<uint32_t> inputs;
    for (uint32_t input : graph[node].inputs)
      if (joint.isValue(input))
        inputs.push_back(numbers[input]);
    bool isExtra = joint.isKept(node) && graph[node].mark != Mark::Recompute;
    uint32_t op = problem.addOp(isExtra ? seconds[node] : 0,
                                joint.mayRecompute(node), std::move(inputs));
    numbers[node] = problem.addValue(op, graph[node].bytes, joint.maySave(node),
                                     isNeeded[node]);
    nodes.push_back(node);
  }
  Result<RecomputationPlan> smallest = findSmallestPlan(problem);
  if (!smallest)
    return smallest.getFailure();
  if (smallest->savedBytes > budget)
    return makeFailure("budget of {0} bytes is below the minimum of {1} bytes",
                       budget, smallest->savedBytes);
  Result<RecomputationPlan> plan = planRecomputation(problem, budget);
  if (!plan)
    return plan.getFailure();
  SavedNodes isSaved(graph.size());
  for (auto [value, node] : llvm::enumerate(nodes))
    isSaved[node] = plan->isSaved[value];
  return joint.complete(std::move(isSaved));
}

void regather::releaseGathered(llvm::MutableArrayRef<JointNode> graph,
                               const std::vector<bool> &isReleased,
                               const std::vector<bool> &isGather,
                               const std::vector<bool> &isWait) {
  constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  // By node: the one released parameter that it is computed from.
  std::vector<uint32_t> parameter(graph.size(), kNone);
  std::vector<bool> isGathered(graph.size()), leadsToGather(graph.size());
  for (uint32_t node = 0, e = graph.size(); node != e; ++node) {
    const JointNode &joint = graph[node];
    if (joint.kind == Kind::Argument && isReleased[node])
      parameter[node] = node;
    bool isChain = joint.kind == Kind::Item ||
                   (joint.kind == Kind::Call && !joint.isLibraryCall &&
                    (!joint.isUnrepeatable || isGather[node] || isWait[node]));
    if (!isChain || joint.inputs.empty())
      continue;
    uint32_t root = parameter[joint.inputs.front()];
    if (!llvm::all_of(joint.inputs,
                      [&](uint32_t input) { return parameter[input] == root; }))
      continue;
    parameter[node] = root;
    isGathered[node] =
        root != kNone &&
        (isGather[node] || llvm::any_of(joint.inputs, [&](uint32_t input) {
           return isGathered[input];
         }));
  }
  for (uint32_t node = graph.size(); node-- > 0;)
    if (parameter[node] != kNone && (isGathered[node] || leadsToGather[node]))
      for (uint32_t input : graph[node].inputs)
        leadsToGather[input] = true;
  for (uint32_t node = 0, e = graph.size(); node != e; ++node) {
    JointNode &joint = graph[node];
    if (joint.kind != Kind::Argument && parameter[node] != kNone &&
        (isGathered[node] || leadsToGather[node]) && joint.mark != Mark::Save &&
        !joint.isReturned)
      joint.mark = Mark::Recompute;
  }
}
