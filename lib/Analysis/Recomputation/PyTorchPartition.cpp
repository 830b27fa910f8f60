//===- PyTorchPartition.cpp - What PyTorch would save ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A node v of the joint graph has two nodes in the flow network, of which those
// on the side of the sink are what backward has or computes:
//
//   in(v) -> out(v)     what saving v costs
//   out(u) -> in(v)     infinite, if v reads u
//   in(v) -> sink       infinite, if v depends on a tangent, or is marked so
//   out(v) -> sink      infinite, if backward returns v
//   source -> in(v)     infinite, if v is banned from being computed again
//
// What is neither needed by a result of forward nor dependent on a tangent is
// free to be on either side ("unclaimed").
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Recomputation/PyTorchPartition.h"

#include "regather/Analysis/Recomputation/MinimumCut.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>
#include <queue>

using namespace regather;
using Kind = JointNode::Kind;
using Mark = JointNode::Mark;

namespace {
constexpr int64_t kFar = 1'000'000'000;
/// Weights grow with the distance up to this one, and a chain that is longer
/// than this is banned.
constexpr int64_t kMaxWeightedDistance = 100;
constexpr uint32_t kMaxChain = 100;
constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();

class Partitioner {
public:
  explicit Partitioner(llvm::ArrayRef<JointNode> graph);

  Result<PyTorchCut> run();

private:
  void findUsers();
  void classify();
  void measureDistances();
  void banSlow();
  void banUsedFarApart();
  void banLongChains();
  FlowNetwork buildNetwork() const;

  llvm::ArrayRef<uint32_t> getUsers(uint32_t node) const {
    return llvm::ArrayRef(users).slice(firstUser[node],
                                       firstUser[node + 1] - firstUser[node]);
  }
  bool isFusible(uint32_t producer, uint32_t user) const {
    return graph[user].isConcatenation ||
           (graph[producer].isFusible && graph[user].isFusible);
  }
  /// The results of the graph are operands of its output node.
  bool isMaterialized(uint32_t node) const {
    return graph[node].kind == Kind::Argument || graph[node].isReturned ||
           !llvm::all_of(getUsers(node),
                         [&](uint32_t user) { return isFusible(node, user); });
  }
  bool isSlow(uint32_t node) const;
  bool isRecomputed(uint32_t node) const {
    return graph[node].mark == Mark::Recompute ||
           graph[node].mark == Mark::PreferRecompute;
  }
  void ban(uint32_t node) {
    banned[node] = banned[node] || (!graph[node].isView && !isRecomputed(node));
  }
  int64_t getWeight(uint32_t node) const;

  static constexpr uint32_t kSource = 0, kSink = 1;
  static uint32_t in(uint32_t node) { return 2 + 2 * node; }
  static uint32_t out(uint32_t node) { return 3 + 2 * node; }

  llvm::ArrayRef<JointNode> graph;
  uint32_t numNodes;
  /// The users of node v are those from firstUser[v] to firstUser[v + 1].
  std::vector<uint32_t> firstUser, users;
  /// By node: depends on a tangent.
  std::vector<bool> inBackward;
  /// By node: the place among what forward needs; kNever for other nodes.
  std::vector<uint32_t> order;
  /// By node: steps to what forward does not need.
  std::vector<int64_t> distance;
  /// By node: a user behind forward, maybe through views, does not fuse with
  /// it.
  std::vector<bool> materializedInBackward;
  std::vector<bool> banned;
};
} // namespace

Partitioner::Partitioner(llvm::ArrayRef<JointNode> graph)
    : graph(graph), numNodes(graph.size()), firstUser(graph.size() + 1),
      inBackward(graph.size()), order(graph.size(), kNever),
      distance(graph.size()), materializedInBackward(graph.size()),
      banned(graph.size()) {}

void Partitioner::findUsers() {
  for (const JointNode &node : graph)
    for (uint32_t input : node.inputs)
      ++firstUser[input + 1];
  for (uint32_t node = 0; node < numNodes; ++node)
    firstUser[node + 1] += firstUser[node];
  users.resize(firstUser[numNodes]);
  std::vector<uint32_t> next(firstUser.begin(), firstUser.end() - 1);
  for (uint32_t node = 0; node < numNodes; ++node)
    for (uint32_t input : graph[node].inputs)
      users[next[input]++] = node;
}

/// `classify_nodes`. Forward needs all arguments, and nodes with effects that
/// it can compute.
void Partitioner::classify() {
  for (uint32_t node = 0; node < numNodes; ++node)
    inBackward[node] = graph[node].kind == Kind::Tangent ||
                       llvm::any_of(graph[node].inputs, [&](uint32_t input) {
                         return inBackward[input];
                       });

  std::vector<bool> isNeeded(numNodes);
  for (uint32_t node = numNodes; node-- > 0;) {
    const JointNode &joint = graph[node];
    if (inBackward[node])
      continue;
    if (joint.kind == Kind::Argument || joint.hasEffects ||
        (joint.isReturned && !joint.isReturnedByBackward))
      isNeeded[node] = true;
    if (isNeeded[node])
      for (uint32_t input : joint.inputs)
        isNeeded[input] = true;
  }
  uint32_t next = 0;
  for (uint32_t node = 0; node < numNodes; ++node)
    if (isNeeded[node])
      order[node] = next++;
}

/// `dist_from_bw`, and `is_materialized_backwards`.
void Partitioner::measureDistances() {
  for (uint32_t node = numNodes; node-- > 0;) {
    bool isKept = order[node] != kNever;
    distance[node] = isKept ? kFar : 0;
    materializedInBackward[node] = graph[node].isReturned;
    for (uint32_t user : getUsers(node)) {
      if (isKept)
        distance[node] = std::min(distance[node], distance[user] + 1);
      bool isRead = order[user] == kNever && !isFusible(node, user);
      bool isReadBehind = graph[user].isView && materializedInBackward[user];
      if (isRead || isReadBehind)
        materializedInBackward[node] = true;
    }
  }
}

/// `should_ban_recomputation`.
bool Partitioner::isSlow(uint32_t node) const {
  const JointNode &joint = graph[node];
  if (joint.kind != Kind::Call)
    return joint.kind == Kind::Argument;
  if (joint.mark == Mark::Save || !joint.isRecomputable)
    return true;
  if (!joint.isView && materializedInBackward[node])
    return true;
  // Such as a reduction: cheap to save.
  return 4 * joint.bytes < joint.inputBytes;
}

void Partitioner::banSlow() {
  for (uint32_t node = 0; node < numNodes; ++node)
    if (order[node] != kNever && isSlow(node))
      ban(node);
}

/// `ban_if_used_far_apart`: of the users of a value, those behind the first
/// place where a chain of fusible operations that begins at one of them ends.
void Partitioner::banUsedFarApart() {
  // Where the fusible operations that follow a node in forward end.
  std::vector<uint32_t> end(numNodes, kNever);
  for (uint32_t node = numNodes; node-- > 0;) {
    if (order[node] == kNever)
      continue;
    uint32_t last = 0, firstEnd = kNever;
    for (uint32_t user : getUsers(node)) {
      if (order[user] == kNever)
        continue;
      last = std::max(last, order[user]);
      firstEnd = std::min(firstEnd, end[user]);
      end[node] =
          std::min(end[node], isFusible(node, user) ? end[user] : order[user]);
    }
    firstEnd = std::min(firstEnd, last);
    for (uint32_t user : getUsers(node))
      if (order[user] != kNever && order[user] > firstEnd &&
          isFusible(node, user))
        ban(user);
  }
}

/// `ban_if_long_fusible_chains`: where a chain narrows to one operation that is
/// far from its start. Each node is in the chain of the first start that finds
/// it.
void Partitioner::banLongChains() {
  std::vector<uint32_t> nodeAt;
  for (uint32_t node = 0; node < numNodes; ++node)
    if (order[node] != kNever)
      nodeAt.push_back(node);
  std::vector<bool> isVisited(nodeAt.size());
  for (uint32_t start = 0, e = nodeAt.size(); start != e; ++start) {
    std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> chain;
    chain.push(start);
    while (!chain.empty()) {
      uint32_t place = chain.top(), node = nodeAt[place];
      chain.pop();
      if (isVisited[place])
        continue;
      isVisited[place] = true;
      if (place > start + kMaxChain && chain.empty()) {
        ban(node);
        break;
      }
      for (uint32_t user : getUsers(node))
        if (order[user] != kNever && isFusible(node, user) && !banned[user])
          chain.push(order[user]);
    }
  }
}

/// `get_node_weight`: the bytes, a tenth more for each step to backward, and
/// twice as much for what would never be stored if it were not saved.
int64_t Partitioner::getWeight(uint32_t node) const {
  const JointNode &joint = graph[node];
  if (joint.isTuple)
    return kInfiniteCapacity;
  if (joint.isFree)
    return 0;
  int64_t steps = std::clamp<int64_t>(distance[node], 1, kMaxWeightedDistance);
  // Rounded as in PyTorch: a product of doubles, cut off.
  auto weight = static_cast<int64_t>(static_cast<double>(joint.bytes) *
                                     std::pow(1.1, steps));
  return isMaterialized(node) ? weight : 2 * weight;
}

FlowNetwork Partitioner::buildNetwork() const {
  FlowNetwork network{2 + 2 * numNodes, kSource, kSink, {}};
  auto connect = [&](uint32_t from, uint32_t to, int64_t capacity) {
    network.edges.push_back({from, to, capacity});
  };
  for (uint32_t node = 0; node < numNodes; ++node) {
    const JointNode &joint = graph[node];
    if (inBackward[node] || isRecomputed(node)) {
      connect(in(node), kSink, kInfiniteCapacity);
      continue;
    }
    if (joint.isReturnedByBackward)
      connect(out(node), kSink, kInfiniteCapacity);
    if (banned[node])
      connect(kSource, in(node), kInfiniteCapacity);
    connect(in(node), out(node), getWeight(node));
    for (uint32_t user : getUsers(node))
      connect(out(node), in(user), kInfiniteCapacity);
  }
  return network;
}

Result<PyTorchCut> Partitioner::run() {
  findUsers();
  classify();
  measureDistances();
  banSlow();
  banUsedFarApart();
  banLongChains();
  Result<MinimumCut> cut = findMinimumCut(buildNetwork());
  if (!cut)
    return cut.getFailure();
  PyTorchCut result;
  result.value = cut->value;
  for (uint32_t node = 0; node < numNodes; ++node)
    result.isSaved.push_back(!cut->onSinkSide[in(node)] &&
                             cut->onSinkSide[out(node)]);
  return result;
}

Result<PyTorchCut>
regather::partitionLikePyTorch(llvm::ArrayRef<JointNode> graph) {
  return Partitioner(graph).run();
}
