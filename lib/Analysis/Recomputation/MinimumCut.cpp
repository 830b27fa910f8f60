//===- MinimumCut.cpp - Minimum cuts of flow networks ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dinic (1970), with distances measured from the sink:
//
//   while the source can reach the sink in the residual network:
//     distance[v] = length of the shortest path from v to the sink
//     send flow along shortest paths until each of them is blocked
//
// The last search for distances finds what can still reach the sink, which is
// the sink side of the cut.
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Recomputation/MinimumCut.h"
#include "regather/Support/LLVM/MakeFailure.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <limits>
#include <optional>

using namespace regather;

namespace {
constexpr uint32_t kUnreached = std::numeric_limits<uint32_t>::max();

/// Edges as pairs of arcs, one for each direction, grouped by their start.
class ResidualNetwork {
public:
  explicit ResidualNetwork(const FlowNetwork &network);

  /// The value of the maximum flow; nothing if it is infinite.
  std::optional<int64_t> maximize();
  /// After `maximize`: true if `node` can reach the sink.
  bool reachesSink(uint32_t node) const { return distance[node] != kUnreached; }

private:
  bool measureDistances();
  std::optional<int64_t> sendAlongShortestPaths();

  uint32_t source, sink;
  /// The arcs of node v are those from first[v] to first[v + 1].
  std::vector<uint32_t> first;
  std::vector<uint32_t> head;
  std::vector<int64_t> residual;
  /// The arc of the other direction.
  std::vector<uint32_t> reverse;

  std::vector<uint32_t> distance;
  /// Per node, the first arc that may still lead to the sink.
  std::vector<uint32_t> current;
  std::vector<uint32_t> queue;
  std::vector<uint32_t> path;
};
} // namespace

ResidualNetwork::ResidualNetwork(const FlowNetwork &network)
    : source(network.source), sink(network.sink),
      first(network.numNodes + 1, 0), head(2 * network.edges.size()),
      residual(2 * network.edges.size()), reverse(2 * network.edges.size()),
      distance(network.numNodes, kUnreached), current(network.numNodes) {
  for (const FlowEdge &edge : network.edges) {
    ++first[edge.from + 1];
    ++first[edge.to + 1];
  }
  for (uint32_t node = 0; node < network.numNodes; ++node)
    first[node + 1] += first[node];
  std::vector<uint32_t> next(first.begin(), first.end() - 1);
  for (const FlowEdge &edge : network.edges) {
    uint32_t forward = next[edge.from]++;
    uint32_t backward = next[edge.to]++;
    head[forward] = edge.to;
    head[backward] = edge.from;
    residual[forward] = std::min(edge.capacity, kInfiniteCapacity);
    residual[backward] = 0;
    reverse[forward] = backward;
    reverse[backward] = forward;
  }
}

/// Searches backwards from the sink. True if it finds the source.
bool ResidualNetwork::measureDistances() {
  std::fill(distance.begin(), distance.end(), kUnreached);
  queue.assign(1, sink);
  distance[sink] = 0;
  for (size_t i = 0; i < queue.size(); ++i) {
    uint32_t node = queue[i];
    for (uint32_t arc = first[node]; arc < first[node + 1]; ++arc) {
      uint32_t other = head[arc];
      if (distance[other] != kUnreached || residual[reverse[arc]] == 0)
        continue;
      distance[other] = distance[node] + 1;
      queue.push_back(other);
    }
  }
  return distance[source] != kUnreached;
}

std::optional<int64_t> ResidualNetwork::sendAlongShortestPaths() {
  std::copy(first.begin(), first.end() - 1, current.begin());
  int64_t sent = 0;
  path.clear();
  uint32_t node = source;
  while (true) {
    if (node == sink) {
      int64_t flow = kInfiniteCapacity;
      for (uint32_t arc : path)
        flow = std::min(flow, residual[arc]);
      // Flows add up to less than half of infinity, so that an arc with more
      // than half of it left has infinite capacity.
      if (flow >= kInfiniteCapacity / 2)
        return std::nullopt;
      sent += flow;
      // Continue from the start of the first arc that is full.
      size_t kept = path.size();
      for (size_t i = path.size(); i-- > 0;) {
        residual[path[i]] -= flow;
        residual[reverse[path[i]]] += flow;
        if (residual[path[i]] == 0)
          kept = i;
      }
      node = head[reverse[path[kept]]];
      path.resize(kept);
      continue;
    }
    uint32_t &arc = current[node];
    while (arc < first[node + 1] &&
           (residual[arc] == 0 || distance[head[arc]] == kUnreached ||
            distance[head[arc]] + 1 != distance[node]))
      ++arc;
    if (arc < first[node + 1]) {
      path.push_back(arc);
      node = head[arc];
      continue;
    }
    // A dead end: no shortest path leads through here any more.
    if (node == source)
      return sent;
    node = head[reverse[path.back()]];
    path.pop_back();
    ++current[node];
  }
}

std::optional<int64_t> ResidualNetwork::maximize() {
  int64_t value = 0;
  while (measureDistances()) {
    std::optional<int64_t> sent = sendAlongShortestPaths();
    if (!sent)
      return std::nullopt;
    value += *sent;
  }
  return value;
}

static Failure verify(const FlowNetwork &network) {
  if (network.source >= network.numNodes || network.sink >= network.numNodes)
    return makeFailure("source and sink must be among the " +
                       llvm::Twine(network.numNodes) + " nodes, got " +
                       llvm::Twine(network.source) + " and " +
                       llvm::Twine(network.sink));
  if (network.source == network.sink)
    return makeFailure("source and sink must differ, both are " +
                       llvm::Twine(network.source));
  if (network.edges.size() > std::numeric_limits<uint32_t>::max() / 2)
    return makeFailure("network has more edges than 31 bits count");
  int64_t sum = 0;
  for (const auto &[number, edge] : llvm::enumerate(network.edges)) {
    if (edge.from >= network.numNodes || edge.to >= network.numNodes)
      return makeFailure("edge " + llvm::Twine(number) + " from " +
                         llvm::Twine(edge.from) + " to " +
                         llvm::Twine(edge.to) + " must stay within the " +
                         llvm::Twine(network.numNodes) + " nodes");
    if (edge.capacity < 0)
      return makeFailure("capacity of edge " + llvm::Twine(number) +
                         " must not be negative, got " +
                         llvm::Twine(edge.capacity));
    if (edge.capacity >= kInfiniteCapacity)
      continue;
    if (edge.capacity >= kInfiniteCapacity / 2 - sum)
      return makeFailure("finite capacities add up to 2^61 or more");
    sum += edge.capacity;
  }
  return Failure();
}

Result<MinimumCut> regather::findMinimumCut(const FlowNetwork &network) {
  if (Failure failure = verify(network))
    return failure;
  ResidualNetwork residual(network);
  std::optional<int64_t> value = residual.maximize();
  if (!value)
    return makeFailure(
        "every cut between source and sink has an infinite capacity");
  MinimumCut cut;
  cut.value = *value;
  for (uint32_t node = 0; node < network.numNodes; ++node)
    cut.onSinkSide.push_back(residual.reachesSink(node));
  return cut;
}
