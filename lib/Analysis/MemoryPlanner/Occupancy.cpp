//===- Occupancy.cpp - What lies where and when ---------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Occupancy.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace regather::planner;

void ByteSet::insert(uint64_t begin, uint64_t end) {
  auto *first = partition_point(
      intervals, [&](const Interval &other) { return other.end < begin; });
  auto *last = first;
  while (last != intervals.end() && last->begin <= end) {
    begin = std::min(begin, last->begin);
    end = std::max(end, last->end);
    ++last;
  }
  if (first == last) {
    intervals.insert(first, {begin, end});
    return;
  }
  *first = {begin, end};
  intervals.erase(first + 1, last);
}

std::optional<uint64_t> ByteSet::findOverlap(uint64_t begin,
                                             uint64_t end) const {
  const auto *first = partition_point(
      intervals, [&](const Interval &other) { return other.end <= begin; });
  if (first == intervals.end() || first->begin >= end)
    return std::nullopt;
  return first->end;
}

Occupancy::Occupancy(uint32_t numSections)
    : numLeaves(static_cast<uint32_t>(
          PowerOf2Ceil(std::max<uint64_t>(numSections, 1)))),
      nodes(2 * static_cast<size_t>(numLeaves)) {}

void Occupancy::insert(uint32_t begin, uint32_t end, uint64_t offset,
                       uint64_t size) {
  uint64_t top = offset + size;
  uint32_t left = begin + numLeaves, right = end + numLeaves - 1;
  for (uint32_t l = left, r = right + 1; l < r; l /= 2, r /= 2) {
    if (l & 1)
      nodes[l++].everywhere.insert(offset, top);
    if (r & 1)
      nodes[--r].everywhere.insert(offset, top);
  }
  // The nodes that overlap the range: on each level, from the ancestor of the
  // first section to that of the last. Those strictly between are below a node
  // that is covered, where `everywhere` says it for all of them.
  for (uint32_t l = left, r = right; l >= 1; l /= 2, r /= 2) {
    nodes[l].somewhere.insert(offset, top);
    if (l != r)
      nodes[r].somewhere.insert(offset, top);
  }
  for (uint32_t l = left, r = right + 1; l < r; l /= 2, r /= 2) {
    if (l & 1)
      nodes[l++].somewhere.insert(offset, top);
    if (r & 1)
      nodes[--r].somewhere.insert(offset, top);
  }
}

uint64_t Occupancy::findLowest(uint32_t begin, uint32_t end, uint64_t size,
                               uint64_t alignment, uint64_t &work,
                               uint64_t maxWork) const {
  SmallVector<const ByteSet *, 64> sets;
  uint32_t left = begin + numLeaves, right = end + numLeaves - 1;
  for (uint32_t l = left, r = right + 1; l < r; l /= 2, r /= 2) {
    if (l & 1)
      sets.push_back(&nodes[l++].somewhere);
    if (r & 1)
      sets.push_back(&nodes[--r].somewhere);
  }
  for (uint32_t l = left, r = right; l >= 1; l /= 2, r /= 2) {
    sets.push_back(&nodes[l].everywhere);
    if (l != r)
      sets.push_back(&nodes[r].everywhere);
  }
  erase_if(sets, [](const ByteSet *set) { return set->empty(); });

  uint64_t offset = 0;
  // Ends once all sets, one after the other, accept the place.
  for (size_t i = 0, agreed = 0; agreed < sets.size();
       i = i + 1 == sets.size() ? 0 : i + 1) {
    if (++work > maxWork) {
      for (const ByteSet *set : sets)
        offset = std::max(offset, alignTo(set->getTop(), alignment));
      return offset;
    }
    if (std::optional<uint64_t> next =
            sets[i]->findOverlap(offset, offset + size)) {
      offset = alignTo(*next, alignment);
      agreed = 0;
    } else {
      ++agreed;
    }
  }
  return offset;
}
