//===- MergedGraph.cpp - A step with buckets ------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Buckets/MergedGraph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;
using namespace regather;

DependencyGraph regather::getDependencies(const TimedGraph &original) {
  DependencyGraph graph;
  for (uint32_t op = 0; op != original.ops.size(); ++op) {
    graph.addOp();
    for (uint32_t needed : original.predecessors[op])
      graph.addSource(needed);
  }
  return graph;
}

namespace {
/// Numbers of the merged step by operation; members have that of the first.
class Renumbering {
public:
  Renumbering(size_t size, ArrayRef<uint32_t> order) : numbers(size) {
    for (auto [number, op] : enumerate(order))
      numbers[op] = number;
  }
  void merge(uint32_t op, uint32_t leader) { numbers[op] = numbers[leader]; }
  uint32_t operator[](uint32_t op) const { return numbers[op]; }
  /// Ascending, each once.
  SmallVector<uint32_t> getNumbers(ArrayRef<uint32_t> ops) const {
    SmallVector<uint32_t> result;
    for (uint32_t op : ops)
      result.push_back(numbers[op]);
    llvm::sort(result);
    result.erase(llvm::unique(result), result.end());
    return result;
  }

private:
  std::vector<uint32_t> numbers;
};
} // namespace

TimedGraph regather::mergeCollectives(
    const TimedGraph &original, const std::vector<CollectiveOps> &collectives,
    const std::vector<BucketPart> &parts, const std::vector<bool> &isEarly,
    function_ref<double(const BucketPart &)> getSeconds) {
  DependencyGraph graph = getDependencies(original);
  std::vector<uint32_t> order =
      orderBuckets(graph, collectives, parts, isEarly);
  Renumbering numbers(original.ops.size(), order);
  // By leader of several starts.
  std::vector<const BucketPart *> partOf(original.ops.size());
  for (const BucketPart &part : parts) {
    if (part.members.size() < 2)
      continue;
    const CollectiveOps &leader = collectives[part.members.front()];
    partOf[leader.start] = &part;
    for (uint32_t member : part.members) {
      numbers.merge(collectives[member].start, leader.start);
      numbers.merge(collectives[member].wait, leader.wait);
    }
  }
  TimedGraph merged;
  merged.streams = original.streams;
  merged.links = original.links;
  merged.residentBytes = original.residentBytes;
  SmallVector<uint32_t> needed;
  for (uint32_t op : order) {
    TimedOp &timed = merged.ops.emplace_back(original.ops[op]);
    timed.collective = numbers[timed.collective];
    needed.assign(original.predecessors[op].begin(),
                  original.predecessors[op].end());
    if (const BucketPart *part = partOf[op]) {
      timed.seconds = getSeconds(*part);
      for (uint32_t member : drop_begin(part->members))
        append_range(needed, original.predecessors[collectives[member].start]);
    }
    merged.predecessors.push(numbers.getNumbers(needed));
  }
  for (const auto &[number, buffer] : enumerate(original.buffers)) {
    merged.buffers.push_back(
        {buffer.bytes, numbers[buffer.writer], buffer.isLiveOut});
    merged.users.push(numbers.getNumbers(original.users[number]));
  }
  return merged;
}
