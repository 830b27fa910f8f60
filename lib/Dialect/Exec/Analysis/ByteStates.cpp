//===- ByteStates.cpp - What every byte of a program holds ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ByteStates.h"

using namespace mlir;
using namespace regather::exec;

uint32_t ByteStates::addSpace(int64_t size, Value owner) {
  auto &space = spaces.emplace_back();
  if (size > 0)
    space[0] = {size, {owner, Access(), {}}};
  return spaces.size() - 1;
}

SmallVector<ByteStates::Segment> ByteStates::get(ByteRange range) const {
  SmallVector<Segment> segments;
  const auto &space = spaces[range.space];
  auto it = space.upper_bound(range.begin);
  if (it != space.begin())
    --it;
  for (; it != space.end() && it->first < range.end; ++it) {
    int64_t begin = std::max(it->first, range.begin);
    int64_t end = std::min(it->second.first, range.end);
    if (begin < end)
      segments.push_back({{range.space, begin, end}, it->second.second});
  }
  return segments;
}

void ByteStates::set(ByteRange range, ArrayRef<Segment> segments) {
  if (range.begin == range.end)
    return;
  if (numMarks > 0)
    journal.push_back({range, get(range)});
  auto &space = spaces[range.space];
  auto first = std::prev(space.upper_bound(range.begin));
  if (first->first < range.begin) {
    // Keep what lies before and, if it is one segment, behind.
    auto [end, state] = first->second;
    first->second.first = range.begin;
    if (end > range.end)
      space[range.end] = {end, std::move(state)};
    else
      space[range.begin] = {end, std::move(state)};
  }
  auto it = space.lower_bound(range.begin);
  while (it != space.end() && it->first < range.end) {
    if (it->second.first > range.end)
      space[range.end] = it->second;
    it = space.erase(it);
  }
  for (const auto &[part, state] : segments)
    space[part.begin] = {part.end, state};
}

SmallVector<ByteRange> ByteStates::getChanges(size_t mark) const {
  SmallVector<ByteRange> ranges;
  for (size_t i = mark; i != journal.size(); ++i)
    ranges.push_back(journal[i].range);
  return mergeRanges(std::move(ranges));
}

void ByteStates::rollBack(size_t mark) {
  unsigned outerMarks = numMarks - 1;
  numMarks = 0;
  while (journal.size() > mark) {
    Change change = std::move(journal.back());
    journal.pop_back();
    set(change.range, change.before);
  }
  numMarks = outerMarks;
}

SmallVector<ByteRange>
regather::exec::mergeRanges(SmallVector<ByteRange> ranges) {
  llvm::sort(ranges, [](const ByteRange &a, const ByteRange &b) {
    return std::tie(a.space, a.begin, a.end) <
           std::tie(b.space, b.begin, b.end);
  });
  SmallVector<ByteRange> merged;
  for (const ByteRange &range : ranges) {
    if (!merged.empty() && merged.back().space == range.space &&
        range.begin <= merged.back().end)
      merged.back().end = std::max(merged.back().end, range.end);
    else
      merged.push_back(range);
  }
  return merged;
}
