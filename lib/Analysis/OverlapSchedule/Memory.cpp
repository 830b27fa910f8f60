//===- Memory.cpp - Memory of a schedule to come --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace regather;
using namespace regather::overlap;

/// Less than anything that bytes add up to.
static constexpr int64_t kNothing = -(int64_t(1) << 61);

//===----------------------------------------------------------------------===//
// RangeMaximum
//===----------------------------------------------------------------------===//

RangeMaximum::RangeMaximum(ArrayRef<int64_t> numbers)
    : size(PowerOf2Ceil(std::max<size_t>(numbers.size(), 1))),
      maximum(2 * size, kNothing), added(size, 0) {
  llvm::copy(numbers, maximum.begin() + size);
  for (uint32_t node = size; --node != 0;)
    maximum[node] = std::max(maximum[2 * node], maximum[2 * node + 1]);
}

bool RangeMaximum::rebuild(uint32_t node) {
  int64_t before = maximum[node];
  maximum[node] =
      std::max(maximum[2 * node], maximum[2 * node + 1]) + added[node];
  return maximum[node] != before;
}

void RangeMaximum::add(uint32_t begin, uint32_t end, int64_t amount) {
  if (begin >= end)
    return;
  auto addTo = [&](uint32_t node) {
    maximum[node] += amount;
    if (node < size)
      added[node] += amount;
  };
  uint32_t left = begin + size, right = end + size;
  for (; left < right; left /= 2, right /= 2) {
    if (left & 1)
      addTo(left++);
    if (right & 1)
      addTo(--right);
  }
  // Both ends up to the node that has them both, then, as long as something
  // changes, that one's parents: to them nothing has been added.
  left = (begin + size) / 2;
  right = (end - 1 + size) / 2;
  for (; left != right; left /= 2, right /= 2) {
    rebuild(left);
    rebuild(right);
  }
  if (left != 0)
    rebuild(left);
  for (left /= 2; left != 0 && rebuild(left);)
    left /= 2;
}

//===----------------------------------------------------------------------===//
// MemoryProjection
//===----------------------------------------------------------------------===//

static std::vector<int64_t> getBytesByPlace(const Graph &graph,
                                            ArrayRef<uint32_t> order) {
  std::vector<int64_t> bytes = computeLiveBytes(graph, order);
  bytes.pop_back();
  for (auto [place, op] : enumerate(order))
    bytes[place] += graph.writtenBytes[op];
  return bytes;
}

MemoryProjection::MemoryProjection(const Graph &graph, ArrayRef<uint32_t> base,
                                   int64_t limit)
    : graph(graph), base(base), limit(limit), places(getPlaces(base)),
      issued(graph.size()), projected(getBytesByPlace(graph, base)),
      live(graph.residentBytes), lastUse(graph.buffers.size(), Graph::kNone) {
  for (uint32_t op : base) {
    for (uint32_t buffer : graph.used[op]) {
      uint32_t previous = lastUse[buffer];
      lastUse[buffer] = uses.size();
      if (previous != Graph::kNone)
        uses[previous].next = uses.size();
      uses.push_back({op, previous, Graph::kNone});
    }
  }
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  for (const auto &[number, use] : enumerate(uses))
    pairs.emplace_back(use.op, number);
  usesOf = IndexLists(graph.size(), pairs);
}

void MemoryProjection::applyChange(uint32_t op, int64_t sign) {
  uint32_t place = places[op];
  // Most of what changes does so from the head on, and is added at once.
  int64_t fromHead = 0;
  // Its results are live from now on instead of from its place in the base.
  for (uint32_t buffer : graph.written[op])
    if (lastUse[buffer] != Graph::kNone || graph.buffers[buffer].isLiveOut)
      fromHead += graph.buffers[buffer].bytes;
  // A buffer that it is the last to use is freed by the user before it.
  for (auto [buffer, use] : zip_equal(graph.used[op], usesOf[op])) {
    if (lastUse[buffer] != use || graph.buffers[buffer].isLiveOut)
      continue;
    uint32_t previous = uses[use].previous;
    if (previous == Graph::kNone)
      fromHead -= graph.buffers[buffer].bytes;
    else
      projected.add(places[uses[previous].op] + 1, place,
                    -sign * graph.buffers[buffer].bytes);
  }
  if (fromHead != 0)
    projected.add(head, place, sign * fromHead);
  projected.add(place, place + 1, sign * kNothing);
}

void MemoryProjection::unlinkUses(uint32_t op) {
  for (auto [buffer, number] : zip_equal(graph.used[op], usesOf[op])) {
    const Use &use = uses[number];
    if (use.next != Graph::kNone)
      uses[use.next].previous = use.previous;
    else
      lastUse[buffer] = use.previous;
    if (use.previous != Graph::kNone)
      uses[use.previous].next = use.next;
    if (lastUse[buffer] == Graph::kNone && !graph.buffers[buffer].isLiveOut)
      live -= graph.buffers[buffer].bytes;
  }
}

bool MemoryProjection::issue(uint32_t op) {
  if (live + graph.writtenBytes[op] > limit)
    return false;
  applyChange(op, 1);
  if (projected.getMaximum() > limit) {
    applyChange(op, -1);
    return false;
  }
  for (uint32_t buffer : graph.written[op])
    if (lastUse[buffer] != Graph::kNone || graph.buffers[buffer].isLiveOut)
      live += graph.buffers[buffer].bytes;
  unlinkUses(op);
  issued[op] = true;
  while (head != base.size() && issued[base[head]])
    ++head;
  return true;
}
