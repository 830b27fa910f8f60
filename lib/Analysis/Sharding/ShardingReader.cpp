//===- ShardingReader.cpp - Problems as JSON ------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Sharding/ShardingReader.h"

#include "regather/Support/LLVM/MakeFailure.h"
#include "regather/Support/LLVM/ParseJson.h"

#include <limits>

using namespace llvm;
using namespace regather;

namespace {
/// Walks the JSON; the first thing that is wrong ends it.
class ProblemReader {
public:
  Result<ShardingProblem> read(const json::Value &root) {
    const json::Object *top = root.getAsObject();
    const json::Object *object = top ? top->getObject("problem") : nullptr;
    if (!object)
      return Failure("expects an object with an object \"problem\"");
    const json::Object *nodes = object->getObject("nodes");
    const json::Object *edges = object->getObject("edges");
    if (!nodes || !edges)
      return Failure("expects objects \"nodes\" and \"edges\" in \"problem\"");
    if (!readNodes(*nodes) || !readEdges(*edges) || !readLimit(*object))
      return std::move(failure);
    if (Failure failure = checkShardingProblem(problem))
      return failure;
    return std::move(problem);
  }

private:
  template <typename... Args> bool fail(const char *format, Args &&...args) {
    failure = makeFailure(format, std::forward<Args>(args)...);
    return false;
  }

  const json::Array *getList(const json::Object &object, StringRef key,
                             StringRef where) {
    const json::Array *list = object.getArray(key);
    if (!list)
      fail("expects a list \"{0}\" in \"{1}\"", key, where);
    return list;
  }

  /// The integers of the list at `index` of a list of lists.
  bool readIntegers(const json::Array &lists, size_t index, StringRef what,
                    std::vector<int64_t> &integers) {
    const json::Array *list = lists[index].getAsArray();
    if (!list)
      return fail("expects a list of integers as {0} {1}", what, index);
    integers.reserve(list->size());
    for (const json::Value &value : *list) {
      std::optional<int64_t> integer = value.getAsInteger();
      // What does not exist may be given as more than 63 bits hold.
      if (!integer && value.getAsNumber().value_or(0) >= kForbiddenCost)
        integer = kForbiddenCost;
      if (!integer)
        return fail("expects integers as {0} {1}, got {2}", what, index, value);
      integers.push_back(*integer);
    }
    return true;
  }

  bool readNodes(const json::Object &nodes) {
    const json::Array *intervals = getList(nodes, "intervals", "nodes");
    const json::Array *costs =
        intervals ? getList(nodes, "costs", "nodes") : nullptr;
    const json::Array *usages =
        costs ? getList(nodes, "usages", "nodes") : nullptr;
    if (!usages)
      return false;
    if (costs->size() != intervals->size() ||
        usages->size() != intervals->size())
      return fail("nodes have {0} intervals, {1} costs and {2} usages",
                  intervals->size(), costs->size(), usages->size());
    problem.nodes.resize(costs->size());
    for (size_t i = 0; i != costs->size(); ++i) {
      ShardingNode &node = problem.nodes[i];
      std::vector<int64_t> interval;
      if (!readIntegers(*intervals, i, "interval", interval) ||
          !readIntegers(*costs, i, "costs of node", node.costs) ||
          !readIntegers(*usages, i, "usages of node", node.bytes))
        return false;
      if (interval.size() != 2)
        return fail("interval {0} has {1} numbers, expects 2", i,
                    interval.size());
      node.begin = interval[0];
      node.end = interval[1];
    }
    return true;
  }

  bool readEdges(const json::Object &edges) {
    const json::Array *nodes = getList(edges, "nodes", "edges");
    const json::Array *costs =
        nodes ? getList(edges, "costs", "edges") : nullptr;
    if (!costs)
      return false;
    if (nodes->size() != costs->size())
      return fail("edges have {0} nodes, but {1} costs", nodes->size(),
                  costs->size());
    for (size_t i = 0; i != nodes->size(); ++i) {
      std::vector<int64_t> ends;
      ShardingEdge edge;
      if (!readIntegers(*nodes, i, "nodes of edge", ends) ||
          !readIntegers(*costs, i, "costs of edge", edge.costs) ||
          !readEnds(ends, i, edge))
        return false;
      problem.edges.push_back(std::move(edge));
    }
    return true;
  }

  /// An edge of one node becomes one from that node to itself.
  bool readEnds(ArrayRef<int64_t> ends, size_t index, ShardingEdge &edge) {
    if (ends.empty() || ends.size() > 2)
      return fail("edge {0} has {1} nodes, expects 1 or 2", index, ends.size());
    int64_t numNodes = problem.nodes.size();
    for (int64_t end : ends)
      if (end < 0 || end >= numNodes)
        return fail("edge {0} ends at node {1}, but there are {2} nodes", index,
                    end, numNodes);
    edge.from = ends.front();
    edge.to = ends.back();
    if (ends.size() == 2)
      return true;
    size_t numStrategies = problem.nodes[edge.from].costs.size();
    if (edge.costs.size() != numStrategies)
      return fail("edge {0} has {1} costs, but node {2} has {3} strategies",
                  index, edge.costs.size(), edge.from, numStrategies);
    std::vector<int64_t> diagonal(numStrategies * numStrategies, 0);
    for (size_t i = 0; i != numStrategies; ++i)
      diagonal[i * (numStrategies + 1)] = edge.costs[i];
    edge.costs = std::move(diagonal);
    return true;
  }

  bool readLimit(const json::Object &object) {
    const json::Value *limit = object.get("usage_limit");
    if (!limit || limit->kind() == json::Value::Null)
      return true;
    problem.limit = limit->getAsInteger();
    if (!problem.limit || *problem.limit < 0)
      return fail(
          "expects an integer of at least 0 as \"usage_limit\", got {0}",
          *limit);
    return true;
  }

  ShardingProblem problem;
  Failure failure;
};
} // namespace

Result<ShardingProblem> regather::readShardingProblem(StringRef json) {
  Expected<json::Value> root = parseJson(json);
  if (!root)
    return makeFailure(root.takeError());
  return ProblemReader().read(*root);
}
