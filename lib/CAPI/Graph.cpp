//===- Graph.cpp - Joint graphs as flat arrays ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph.h"

#include "Status.h"

#include "regather/Analysis/Recomputation/JointPartition.h"
#include "regather/Support/LLVM/MakeFailure.h"

#include "llvm/ADT/bit.h"

using namespace regather;
using Kind = JointNode::Kind;
using Mark = JointNode::Mark;

/// Bytes from which on weighted sums might overflow.
static constexpr int64_t kMaxBytes = int64_t(1) << 46;

static bool hasSeveral(uint32_t traits, uint32_t mask) {
  return llvm::popcount(traits & mask) > 1;
}

static Failure checkNode(const RegatherGraphArrays &arrays, uint32_t node) {
  uint32_t traits = arrays.nodeTraits[node];
  if (arrays.targets[node] >= arrays.numTargets)
    return makeFailure("node {0} has target {1}, but there are {2} targets",
                       node, arrays.targets[node], arrays.numTargets);
  if (hasSeveral(traits,
                 RegatherNodeArgument | RegatherNodeTangent | RegatherNodeItem))
    return makeFailure("node {0} is of several kinds", node);
  if (hasSeveral(traits, RegatherNodeMustSave | RegatherNodeMustRecompute |
                             RegatherNodePreferSave |
                             RegatherNodePreferRecompute))
    return makeFailure("node {0} has several policies", node);
  if (hasSeveral(traits,
                 RegatherNodeForwardResult | RegatherNodeBackwardResult))
    return makeFailure("node {0} is a result of forward and of backward", node);
  for (uint32_t place = arrays.inputBegins[node];
       place != arrays.inputBegins[node + 1]; ++place)
    if (arrays.inputs[place] >= node)
      return makeFailure("node {0} reads node {1}, which is not before it",
                         node, arrays.inputs[place]);
  if (arrays.inputBegins[node] != arrays.inputBegins[node + 1] &&
      (traits & (RegatherNodeArgument | RegatherNodeTangent)))
    return makeFailure("node {0} is an argument, but has inputs", node);
  return Failure();
}

static Failure checkBytes(const char *what, const int64_t *bytes,
                          uint32_t numNodes) {
  int64_t sum = 0;
  for (uint32_t node = 0; node != numNodes; ++node) {
    if (bytes[node] < 0 || bytes[node] >= kMaxBytes - sum)
      return makeFailure("{0} of node {1} are negative, or add up to 2^46 or "
                         "more, got {2}",
                         what, node, bytes[node]);
    sum += bytes[node];
  }
  return Failure();
}

static Failure check(const RegatherGraphArrays &arrays) {
  if (arrays.numNodes == 0)
    return Failure();
  if (!arrays.targets || !arrays.nodeTraits || !arrays.targetTraits ||
      !arrays.inputBegins || !arrays.bytes || !arrays.inputBytes ||
      (!arrays.inputs && arrays.inputBegins[arrays.numNodes] != 0))
    return makeFailure("an array is missing");
  if (arrays.inputBegins[0] != 0)
    return makeFailure("inputs of node 0 begin at {0}, expects 0",
                       arrays.inputBegins[0]);
  for (uint32_t node = 0; node != arrays.numNodes; ++node)
    if (arrays.inputBegins[node] > arrays.inputBegins[node + 1])
      return makeFailure("inputs of node {0} end before they begin", node);
  for (uint32_t node = 0; node != arrays.numNodes; ++node)
    if (Failure failure = checkNode(arrays, node))
      return failure;
  if (Failure failure = checkBytes("bytes", arrays.bytes, arrays.numNodes))
    return failure;
  // A value may be read any number of times: only its own size is checked.
  for (uint32_t node = 0; node != arrays.numNodes; ++node)
    if (arrays.inputBytes[node] < 0 || arrays.inputBytes[node] >= kMaxBytes)
      return makeFailure("bytes that node {0} reads are out of range, got {1}",
                         node, arrays.inputBytes[node]);
  return Failure();
}

static Kind getKind(uint32_t traits) {
  if (traits & RegatherNodeArgument)
    return Kind::Argument;
  if (traits & RegatherNodeTangent)
    return Kind::Tangent;
  return traits & RegatherNodeItem ? Kind::Item : Kind::Call;
}

static Mark getMark(uint32_t traits) {
  if (traits & RegatherNodeMustSave)
    return Mark::Save;
  if (traits & RegatherNodeMustRecompute)
    return Mark::Recompute;
  if (traits & RegatherNodePreferSave)
    return Mark::PreferSave;
  return traits & RegatherNodePreferRecompute ? Mark::PreferRecompute
                                              : Mark::None;
}

static JointNode makeNode(const RegatherGraphArrays &arrays, uint32_t number) {
  uint32_t traits = arrays.nodeTraits[number];
  JointNode node;
  node.kind = getKind(traits);
  node.mark = getMark(traits);
  uint32_t target = node.kind == Kind::Call || node.kind == Kind::Item
                        ? arrays.targetTraits[arrays.targets[number]]
                        : 0;
  node.isView = target & RegatherTargetView;
  node.isRecomputable = target & RegatherTargetRecomputable;
  node.isFusible = target & RegatherTargetFusible;
  node.isConcatenation = target & RegatherTargetConcatenation;
  node.isLibraryCall = target & RegatherTargetLibraryCall;
  node.isUnrepeatable =
      target & (RegatherTargetUnrepeatable | RegatherTargetGather |
                RegatherTargetCollective | RegatherTargetWait);
  node.hasEffects = target & RegatherTargetEffects;
  node.isTuple = traits & RegatherNodeTuple;
  node.isFree = traits & RegatherNodeFree;
  node.isReturnedByBackward = traits & RegatherNodeBackwardResult;
  node.isReturned =
      traits & (RegatherNodeForwardResult | RegatherNodeBackwardResult);
  node.bytes = arrays.bytes[number];
  node.inputBytes = arrays.inputBytes[number];
  node.inputs.append(arrays.inputs + arrays.inputBegins[number],
                     arrays.inputs + arrays.inputBegins[number + 1]);
  return node;
}

/// By node: its target has the trait.
static std::vector<bool> getCalls(const RegatherGraphArrays &arrays,
                                  uint32_t trait) {
  std::vector<bool> calls(arrays.numNodes);
  for (uint32_t node = 0; node != arrays.numNodes; ++node)
    calls[node] = arrays.targetTraits[arrays.targets[node]] & trait;
  return calls;
}

static RegatherGraph makeGraph(const RegatherGraphArrays &arrays) {
  RegatherGraph graph;
  graph.targets.assign(arrays.targets, arrays.targets + arrays.numNodes);
  graph.targetTraits.assign(arrays.targetTraits,
                            arrays.targetTraits + arrays.numTargets);
  std::vector<bool> isReleased(arrays.numNodes);
  bool anyReleased = false;
  for (uint32_t node = 0; node != arrays.numNodes; ++node) {
    graph.nodes.push_back(makeNode(arrays, node));
    isReleased[node] = arrays.nodeTraits[node] & RegatherNodeReleased;
    anyReleased |= isReleased[node];
  }
  if (anyReleased)
    releaseGathered(graph.nodes, isReleased,
                    getCalls(arrays, RegatherTargetGather),
                    getCalls(arrays, RegatherTargetWait));
  return graph;
}

RegatherStatus *regatherGraphCreate(const RegatherGraphArrays *arrays,
                                    RegatherGraph **graph) {
  if (!arrays || !graph)
    return capi::takeStatus(makeFailure("an argument is null"));
  if (Failure failure = check(*arrays))
    return capi::takeStatus(failure);
  *graph = new RegatherGraph(makeGraph(*arrays));
  return nullptr;
}

void regatherGraphDestroy(RegatherGraph *graph) { delete graph; }
