//===- ByteHistory.cpp - Who touched which bytes --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ByteHistory.h"

using namespace regather;
using namespace regather::callorder;

ByteHistory::Segments::iterator ByteHistory::cut(uint64_t address) {
  auto next = segments.lower_bound(address);
  if (next == segments.begin())
    return next;
  Segment &before = std::prev(next)->second;
  if (before.end <= address)
    return next;
  Segment rest = before;
  before.end = address;
  return segments.emplace_hint(next, address, std::move(rest));
}

void ByteHistory::visit(CallRange range, Visitor visit) {
  uint64_t begin = range.address, end = begin + range.bytes;
  if (begin == end)
    return;
  cut(end);
  for (auto it = cut(begin); it != segments.end() && it->first < end; ++it) {
    if (begin < it->first)
      visit({begin, it->first - begin}, nullptr);
    visit({it->first, it->second.end - it->first}, &it->second.state);
    begin = it->second.end;
  }
  if (begin < end)
    visit({begin, end - begin}, nullptr);
}

void ByteHistory::free(CallRange range) {
  if (range.bytes == 0)
    return;
  auto end = cut(range.address + range.bytes);
  segments.erase(cut(range.address), end);
}

void ByteHistory::allocate(CallRange range) { set(range, {}); }

void ByteHistory::set(CallRange range, ByteHistoryState state) {
  if (range.bytes == 0)
    return;
  free(range);
  segments[range.address] = {range.address + range.bytes, std::move(state)};
}
