//===- Policy.cpp - What checkpointed units keep --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather-c/Policy.h"

#include "Graph.h"
#include "ModulePaths.h"
#include "Status.h"

#include "regather/Analysis/Recomputation/UnitPlans.h"
#include "regather/Support/LLVM/MakeFailure.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/GlobPattern.h"

using namespace regather;
using llvm::StringRef;
using Kind = JointNode::Kind;
using Mark = JointNode::Mark;

namespace {
class PolicyMarker {
public:
  PolicyMarker(RegatherGraph &graph, const RegatherPolicy &policy)
      : graph(graph), policy(policy), nodes(graph.nodes.size()),
        readers(graph.nodes.size()), isForward(graph.nodes.size()),
        chains(graph.nodes.size(), kNoChain) {}

  Failure run();

private:
  Failure check() const;
  Failure readPatterns();
  void findForward();
  void findChains();
  Failure findUnits();
  void findReaders();
  void addNode(uint32_t node);
  bool isSelected(uint32_t node);

  /// Numbers of chains that are none: made of nothing, and of several things.
  static constexpr uint32_t kConstant = UINT32_MAX - 1, kNoChain = UINT32_MAX;

  RegatherGraph &graph;
  const RegatherPolicy &policy;
  std::vector<CheckpointNode> nodes;
  std::vector<std::vector<uint32_t>> readers;
  /// By node: forward needs it for its results.
  std::vector<bool> isForward;
  /// By node: the parameter that it alone is made of.
  std::vector<uint32_t> chains;
  std::vector<llvm::GlobPattern> saved;
  std::vector<bool> isUsed;
  int64_t numCalls = 0;
};
} // namespace

Failure PolicyMarker::check() const {
  auto arePlans = [](llvm::ArrayRef<uint32_t> plans) {
    return llvm::all_of(
        plans, [](uint32_t plan) { return plan <= RegatherPolicySelective; });
  };
  for (const RegatherTexts *texts :
       {&policy.patterns, &policy.saved, &policy.modules})
    if (!capi::areTexts(texts->count, texts->elements))
      return makeFailure("a text of the policy is missing");
  size_t numTargets = graph.targetTraits.size();
  if ((policy.patterns.count > 0 && !policy.patternPlans) ||
      (!nodes.empty() && (!policy.moduleOfNode || !policy.isParameter)) ||
      !capi::areTexts(numTargets, policy.targetNames))
    return makeFailure("an array of the policy is missing");
  if (!arePlans({policy.plan, policy.others}) ||
      !arePlans({policy.patternPlans, policy.patterns.count}))
    return makeFailure("there is no such plan");
  for (uint32_t node = 0; node != nodes.size(); ++node)
    if (policy.moduleOfNode[node] != REGATHER_C_NONE &&
        policy.moduleOfNode[node] >= policy.modules.count)
      return makeFailure("module of node {0} does not exist", node);
  return Failure();
}

Failure PolicyMarker::readPatterns() {
  for (uint32_t i = 0; i != policy.saved.count; ++i) {
    llvm::Expected<llvm::GlobPattern> glob =
        llvm::GlobPattern::create(policy.saved.elements[i]);
    if (!glob)
      return makeFailure("pattern \"{0}\" of option 'save' is malformed: {1}",
                         policy.saved.elements[i],
                         llvm::toString(glob.takeError()));
    saved.push_back(std::move(*glob));
  }
  isUsed.resize(saved.size());
  return Failure();
}

void PolicyMarker::findForward() {
  std::vector<bool> inBackward(nodes.size());
  for (uint32_t node = 0; node != nodes.size(); ++node)
    inBackward[node] =
        graph.nodes[node].kind == Kind::Tangent ||
        llvm::any_of(graph.nodes[node].inputs,
                     [&](uint32_t input) { return inBackward[input]; });
  for (uint32_t node = nodes.size(); node-- > 0;) {
    const JointNode &joint = graph.nodes[node];
    if (inBackward[node])
      continue;
    if (joint.hasEffects || (joint.isReturned && !joint.isReturnedByBackward))
      isForward[node] = true;
    if (isForward[node])
      for (uint32_t input : joint.inputs)
        isForward[input] = true;
  }
}

void PolicyMarker::findChains() {
  for (uint32_t node = 0; node != nodes.size(); ++node) {
    const JointNode &joint = graph.nodes[node];
    if (joint.kind == Kind::Argument || joint.kind == Kind::Tangent) {
      if (policy.isParameter[node])
        chains[node] = node;
      continue;
    }
    bool isRandom = joint.isUnrepeatable &&
                    !graph.hasTargetTrait(node, RegatherTargetGather |
                                                    RegatherTargetCollective |
                                                    RegatherTargetWait);
    if (joint.isLibraryCall || isRandom || joint.hasEffects)
      continue;
    uint32_t chain = kConstant;
    for (uint32_t input : joint.inputs)
      if (chains[input] != kConstant)
        chain = chain == kConstant || chain == chains[input] ? chains[input]
                                                             : kNoChain;
    chains[node] = chain;
  }
}

Failure PolicyMarker::findUnits() {
  std::vector<StringRef> paths(policy.modules.elements,
                               policy.modules.elements + policy.modules.count);
  PatternMatches found =
      matchModulePatterns("modules",
                          std::vector<std::string>(policy.patterns.elements,
                                                   policy.patterns.elements +
                                                       policy.patterns.count),
                          paths, "module of forward");
  if (found.failure)
    return capi::getFailure(found);
  UnitPlans plans;
  plans.plan = static_cast<CheckpointPlan>(policy.plan);
  plans.others = static_cast<CheckpointPlan>(policy.others);
  if (policy.units != 0)
    plans.numFirst = policy.units;
  for (uint32_t i = 0; i != policy.patterns.count; ++i)
    plans.ofPatterns.push_back(
        static_cast<CheckpointPlan>(policy.patternPlans[i]));
  PlannedModules planned = planUnits(paths, found.matches, plans);
  if (planned.failure)
    return std::move(planned.failure);
  for (uint32_t node = 0; node != nodes.size(); ++node)
    if (isForward[node] && policy.moduleOfNode[node] != REGATHER_C_NONE)
      nodes[node] = planned.nodes[policy.moduleOfNode[node]];
  return Failure();
}

bool PolicyMarker::isSelected(uint32_t node) {
  const JointNode &joint = graph.nodes[node];
  if (!saved.empty()) {
    bool any = false;
    for (auto [i, glob] : llvm::enumerate(saved))
      if (glob.match(policy.targetNames[graph.targets[node]]))
        any = isUsed[i] = true;
    return any;
  }
  if (graph.hasTargetTrait(node, RegatherTargetWait))
    return true;
  if (joint.isLibraryCall)
    return policy.everySecondProduct == 0 || numCalls++ % 2 == 0;
  return !joint.isView && 4 * joint.bytes < joint.inputBytes;
}

void PolicyMarker::addNode(uint32_t number) {
  const JointNode &joint = graph.nodes[number];
  CheckpointNode &node = nodes[number];
  node.isExempt = !isForward[number] || joint.kind == Kind::Argument ||
                  chains[number] != kNoChain;
  node.isReturned = joint.isReturned && !joint.isReturnedByBackward;
  if (joint.kind == Kind::Item && !joint.inputs.empty()) {
    // What is selected, or not repeatable, is so result by result.
    const CheckpointNode &source = nodes[joint.inputs.front()];
    node.isSelected = source.isSelected;
    node.isRepeatable = source.isRepeatable;
  } else if (node.plan != CheckpointPlan::None && !node.isExempt) {
    constexpr uint32_t kCommunication =
        RegatherTargetGather | RegatherTargetCollective | RegatherTargetWait;
    node.isRepeatable =
        !joint.hasEffects &&
        (!joint.isUnrepeatable || graph.hasTargetTrait(number, kCommunication));
    node.isSelected =
        node.plan == CheckpointPlan::Selective && isSelected(number);
  }
  // The value of a collective is that of its wait.
  bool isStart = graph.hasTargetTrait(number, RegatherTargetGather |
                                                  RegatherTargetCollective);
  node.isExempt |= joint.mark != Mark::None ||
                   (isStart && node.plan == CheckpointPlan::Selective);
}

void PolicyMarker::findReaders() {
  for (uint32_t node = 0; node != nodes.size(); ++node)
    if (isForward[node])
      for (uint32_t input : graph.nodes[node].inputs)
        readers[input].push_back(node);
}

Failure PolicyMarker::run() {
  if (Failure failure = check())
    return failure;
  if (Failure failure = readPatterns())
    return failure;
  findForward();
  findChains();
  if (Failure failure = findUnits())
    return failure;
  findReaders();
  for (uint32_t node = 0; node != nodes.size(); ++node)
    addNode(node);
  for (size_t i = 0; i != saved.size(); ++i)
    if (!isUsed[i])
      return makeFailure(
          "pattern \"{0}\" of option 'save' matches no operation "
          "whose policy is selective",
          policy.saved.elements[i]);
  for (auto [node, isSaved] :
       llvm::zip_equal(graph.nodes, markCheckpoints(nodes, readers))) {
    // Of several results, those that are read have marks.
    if (!isSaved || (*isSaved && node.isTuple))
      continue;
    node.mark = *isSaved ? Mark::Save : Mark::Recompute;
  }
  return Failure();
}

RegatherStatus *regatherGraphApplyPolicy(RegatherGraph *graph,
                                         const RegatherPolicy *policy) {
  if (!graph || !policy)
    return capi::takeStatus(makeFailure("an argument is null"));
  return capi::takeStatus(PolicyMarker(*graph, *policy).run());
}
