//===- JointSplit.cpp - The two programs of a joint graph -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Recomputation/JointPartition.h"

#include "regather/Support/LLVM/MakeFailure.h"

#include "llvm/ADT/STLExtras.h"

using namespace regather;
using Kind = JointNode::Kind;

namespace {
/// An order in which nodes move behind others.
class MovableOrder {
public:
  /// Of `numNodes` nodes, these in this order.
  MovableOrder(uint32_t numNodes, llvm::ArrayRef<uint32_t> nodes)
      : next(numNodes + 1), previous(numNodes + 1), head(numNodes) {
    uint32_t last = head;
    for (uint32_t node : nodes) {
      link(last, node);
      last = node;
    }
    link(last, head);
  }

  void moveBehind(uint32_t node, uint32_t other) {
    link(previous[node], next[node]);
    uint32_t behind = next[other];
    link(other, node);
    link(node, behind);
  }
  std::vector<uint32_t> get() const {
    std::vector<uint32_t> nodes;
    for (uint32_t node = next[head]; node != head; node = next[node])
      nodes.push_back(node);
    return nodes;
  }

private:
  void link(uint32_t first, uint32_t second) {
    next[first] = second;
    previous[second] = first;
  }

  std::vector<uint32_t> next, previous;
  uint32_t head;
};

class Splitter {
public:
  Splitter(llvm::ArrayRef<JointNode> graph, const SavedNodes &isSaved)
      : graph(graph), isSaved(isSaved) {}

  Result<JointSplit> run();

private:
  /// By node: it can be computed from inputs.
  std::vector<bool> findComputable(const std::vector<bool> &isInput) const;
  /// By node: it is computed for a result, or has effects.
  std::vector<bool> findLive(const std::vector<bool> &isInput,
                             const std::vector<bool> &isComputable,
                             const std::vector<bool> &isResult) const;
  Failure checkResults(const std::vector<bool> &isComputable,
                       const std::vector<bool> &isResult) const;
  void dropUnread(const std::vector<bool> &isInput,
                  const std::vector<bool> &isLive);
  std::vector<uint32_t>
  delayRecomputation(llvm::ArrayRef<uint32_t> nodes) const;
  std::vector<uint32_t> raiseItems(llvm::ArrayRef<uint32_t> nodes,
                                   const std::vector<bool> &isInput) const;

  llvm::ArrayRef<JointNode> graph;
  SavedNodes isSaved;
};
} // namespace

std::vector<bool>
Splitter::findComputable(const std::vector<bool> &isInput) const {
  std::vector<bool> isComputable(isInput);
  for (uint32_t node = 0, e = graph.size(); node != e; ++node)
    if (graph[node].kind == Kind::Call || graph[node].kind == Kind::Item)
      isComputable[node] =
          isInput[node] ||
          llvm::all_of(graph[node].inputs,
                       [&](uint32_t input) { return isComputable[input]; });
  return isComputable;
}

std::vector<bool> Splitter::findLive(const std::vector<bool> &isInput,
                                     const std::vector<bool> &isComputable,
                                     const std::vector<bool> &isResult) const {
  std::vector<bool> isLive(isResult);
  for (uint32_t node = graph.size(); node-- > 0;) {
    if (!isComputable[node] || isInput[node])
      continue;
    if (graph[node].hasEffects)
      isLive[node] = true;
    if (isLive[node])
      for (uint32_t input : graph[node].inputs)
        isLive[input] = true;
  }
  return isLive;
}

Failure Splitter::checkResults(const std::vector<bool> &isComputable,
                               const std::vector<bool> &isResult) const {
  for (uint32_t node = 0, e = graph.size(); node != e; ++node)
    if (isResult[node] && !isComputable[node])
      return makeFailure("result {0} cannot be computed from what is there",
                         node);
  return Failure();
}

/// A value that nobody reads, or only dead waits, is not saved.
void Splitter::dropUnread(const std::vector<bool> &isInput,
                          const std::vector<bool> &isLive) {
  std::vector<bool> isRead(graph.size()), isReadTwice(graph.size());
  for (uint32_t node = graph.size(); node-- > 0;) {
    if (graph[node].isReturnedByBackward)
      isRead[node] = true;
    if (isInput[node] || !isLive[node])
      continue;
    bool isDeadWait = graph[node].hasEffects && !isRead[node];
    if (!isDeadWait)
      for (uint32_t input : graph[node].inputs)
        isRead[input] = true;
  }
  for (uint32_t node = 0, e = graph.size(); node != e; ++node)
    isSaved[node] = isSaved[node] && isRead[node];
}

/// `reordering_to_mimic_autograd_engine`: from the first reader of a tangent
/// on, in the order of the graph, each node right behind what it takes that is
/// not there yet.
std::vector<uint32_t>
Splitter::delayRecomputation(llvm::ArrayRef<uint32_t> nodes) const {
  const uint32_t *first = llvm::find_if(nodes, [&](uint32_t node) {
    return llvm::any_of(graph[node].inputs, [&](uint32_t input) {
      return graph[input].kind == Kind::Tangent;
    });
  });
  if (first == nodes.end())
    return nodes;
  std::vector<bool> isOpen(graph.size());
  for (uint32_t node : nodes)
    isOpen[node] = true;
  std::vector<uint32_t> order, stack, missing;
  // The nodes on the stack, and everything that they need.
  auto insert = [&] {
    missing.clear();
    while (!stack.empty()) {
      uint32_t node = stack.back();
      stack.pop_back();
      if (!isOpen[node])
        continue;
      isOpen[node] = false;
      missing.push_back(node);
      llvm::append_range(stack, graph[node].inputs);
    }
    llvm::sort(missing);
    llvm::append_range(order, missing);
  };
  for (; first != nodes.end(); ++first) {
    stack.push_back(*first);
    insert();
  }
  // Results that depend on no tangent come last.
  for (uint32_t node : nodes)
    if (graph[node].isReturnedByBackward)
      stack.push_back(node);
  insert();
  return order;
}

/// `raise_getitems`.
std::vector<uint32_t>
Splitter::raiseItems(llvm::ArrayRef<uint32_t> nodes,
                     const std::vector<bool> &isInput) const {
  MovableOrder order(graph.size(), nodes);
  for (uint32_t node : llvm::reverse(nodes)) {
    if (graph[node].kind != Kind::Item || graph[node].inputs.empty())
      continue;
    uint32_t parent = graph[node].inputs.front();
    if (!isInput[parent])
      order.moveBehind(node, parent);
  }
  return order.get();
}

/// Nodes that run, in the order of the graph.
static std::vector<uint32_t> listRunning(const std::vector<bool> &isInput,
                                         const std::vector<bool> &isComputable,
                                         const std::vector<bool> &isLive) {
  std::vector<uint32_t> nodes;
  for (uint32_t node = 0, e = isInput.size(); node != e; ++node)
    if (isLive[node] && isComputable[node] && !isInput[node])
      nodes.push_back(node);
  return nodes;
}

Result<JointSplit> Splitter::run() {
  std::vector<bool> isArgument, isTangent, isForwardResult, isBackwardResult;
  for (const JointNode &node : graph) {
    isArgument.push_back(node.kind == Kind::Argument);
    isTangent.push_back(node.kind == Kind::Tangent);
    isForwardResult.push_back(node.isReturned && !node.isReturnedByBackward);
    isBackwardResult.push_back(node.isReturnedByBackward);
  }
  auto getBackwardInputs = [&] {
    std::vector<bool> isInput(isTangent);
    for (uint32_t node = 0, e = graph.size(); node != e; ++node)
      isInput[node] = isInput[node] || isSaved[node];
    return isInput;
  };
  std::vector<bool> isInput = getBackwardInputs();
  std::vector<bool> isComputable = findComputable(isInput);
  if (Failure failure = checkResults(isComputable, isBackwardResult))
    return failure;
  dropUnread(isInput, findLive(isInput, isComputable, isBackwardResult));

  JointSplit split;
  isInput = getBackwardInputs();
  isComputable = findComputable(isInput);
  std::vector<uint32_t> backward = listRunning(
      isInput, isComputable, findLive(isInput, isComputable, isBackwardResult));
  split.backward = raiseItems(delayRecomputation(backward), isInput);

  for (uint32_t node = 0, e = graph.size(); node != e; ++node) {
    if (!isSaved[node])
      continue;
    split.saved.push_back(node);
    isForwardResult[node] = true;
  }
  isComputable = findComputable(isArgument);
  if (Failure failure = checkResults(isComputable, isForwardResult))
    return failure;
  split.forward = raiseItems(
      listRunning(isArgument, isComputable,
                  findLive(isArgument, isComputable, isForwardResult)),
      isArgument);
  return split;
}

Result<JointSplit> regather::splitJointGraph(llvm::ArrayRef<JointNode> graph,
                                             const SavedNodes &isSaved) {
  return Splitter(graph, isSaved).run();
}
