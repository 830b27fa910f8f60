//===- PlanChecker.cpp - Whether a memory plan holds ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanChecker.h"

#include "regather/Support/LLVM/MakeFailure.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <array>
#include <map>
#include <tuple>

using namespace llvm;
using namespace regather;

static Failure checkPlaces(const MemoryPlanRequest &request,
                           ArrayRef<uint64_t> offsets, uint64_t peak) {
  if (offsets.size() != request.buffers.size())
    return makeFailure("plan has {0} offsets for {1} buffers", offsets.size(),
                       request.buffers.size());
  for (auto [number, buffer] : enumerate(request.buffers)) {
    uint64_t offset = offsets[number];
    if (buffer.alignment == 0 || offset % buffer.alignment != 0)
      return makeFailure("offset {0} of buffer {1} is not a multiple of its "
                         "alignment {2}",
                         offset, number, buffer.alignment);
    if (buffer.fixedOffset && *buffer.fixedOffset != offset)
      return makeFailure("buffer {0} is fixed at offset {1}, but lies at {2}",
                         number, *buffer.fixedOffset, offset);
    if (buffer.size != 0 && buffer.begin < buffer.end &&
        (buffer.size > peak || offset > peak - buffer.size))
      return makeFailure("buffer {0} of {1} bytes at offset {2} does not end "
                         "within the {3} bytes of the arena",
                         number, buffer.size, offset, peak);
  }
  return Failure();
}

namespace {
/// Sweeps over the steps with the set of live buffers, by offset.
class OverlapCheck {
public:
  OverlapCheck(const MemoryPlanRequest &request, ArrayRef<uint64_t> offsets);
  Failure run();

private:
  Failure begin(uint32_t number);
  void end(uint32_t number);
  bool mayOverlap(uint32_t a, uint32_t b) const;

  const MemoryPlanRequest &request;
  ArrayRef<uint64_t> offsets;
  /// The first group of each buffer; -1 for none.
  std::vector<int64_t> group;
  DenseSet<std::pair<uint32_t, uint32_t>> inPlace;
  /// What lies at each offset; several only if they may overlap.
  std::map<uint64_t, SmallVector<uint32_t, 2>> live;
};
} // namespace

OverlapCheck::OverlapCheck(const MemoryPlanRequest &request,
                           ArrayRef<uint64_t> offsets)
    : request(request), offsets(offsets), group(offsets.size(), -1) {
  for (auto [number, members] : enumerate(request.groups))
    for (uint32_t member : members)
      group[member] = static_cast<int64_t>(number);
  for (const InPlaceHint &hint : request.inPlace)
    inPlace.insert({hint.result, hint.operand});
}

bool OverlapCheck::mayOverlap(uint32_t a, uint32_t b) const {
  if (offsets[a] != offsets[b])
    return false;
  if (group[a] >= 0 && group[a] == group[b])
    return true;
  return llvm::any_of(
      std::array<std::pair<uint32_t, uint32_t>, 2>{{{a, b}, {b, a}}},
      [&](std::pair<uint32_t, uint32_t> pair) {
        return inPlace.contains(pair) &&
               request.buffers[pair.second].end ==
                   request.buffers[pair.first].begin + 1;
      });
}

Failure OverlapCheck::begin(uint32_t number) {
  uint64_t offset = offsets[number];
  uint64_t end = offset + request.buffers[number].size;
  auto check = [&](uint32_t other) -> Failure {
    uint64_t otherEnd = offsets[other] + request.buffers[other].size;
    if (otherEnd <= offset || end <= offsets[other] ||
        mayOverlap(number, other))
      return Failure();
    return makeFailure(
        "buffers {0} and {1} are live together from step {2}, but "
        "lie at offsets {3} and {4} with {5} and {6} bytes",
        other, number, request.buffers[number].begin, offsets[other], offset,
        request.buffers[other].size, request.buffers[number].size);
  };
  // Nothing live overlaps, so only the neighbours below and above can.
  auto above = live.lower_bound(offset);
  if (above != live.begin())
    for (uint32_t other : std::prev(above)->second)
      if (Failure failure = check(other))
        return failure;
  for (; above != live.end() && above->first < end; ++above)
    for (uint32_t other : above->second)
      if (Failure failure = check(other))
        return failure;
  live[offset].push_back(number);
  return Failure();
}

void OverlapCheck::end(uint32_t number) {
  auto entry = live.find(offsets[number]);
  llvm::erase(entry->second, number);
  if (entry->second.empty())
    live.erase(entry);
}

Failure OverlapCheck::run() {
  // (step, whether it begins, buffer): ends come first.
  std::vector<std::tuple<uint64_t, bool, uint32_t>> events;
  for (auto [number, buffer] : enumerate(request.buffers)) {
    if (buffer.size == 0 || buffer.begin >= buffer.end)
      continue;
    events.push_back({buffer.begin, true, number});
    events.push_back({buffer.end, false, number});
  }
  llvm::sort(events);
  for (auto [step, isBegin, number] : events) {
    if (!isBegin)
      end(number);
    else if (Failure failure = begin(number))
      return failure;
  }
  return Failure();
}

static Failure checkGroups(const MemoryPlanRequest &request,
                           ArrayRef<uint64_t> offsets) {
  for (const std::vector<uint32_t> &group : request.groups) {
    for (uint32_t member : group) {
      if (member >= offsets.size())
        return makeFailure("a group names buffer {0}, but there are only {1}",
                           member, offsets.size());
      if (offsets[member] != offsets[group.front()])
        return makeFailure("buffers {0} and {1} have to be at the same place, "
                           "but lie at offsets {2} and {3}",
                           group.front(), member, offsets[group.front()],
                           offsets[member]);
    }
  }
  return Failure();
}

Failure regather::checkMemoryPlan(const MemoryPlanRequest &request,
                                  ArrayRef<uint64_t> offsets, uint64_t peak) {
  if (Failure failure = checkPlaces(request, offsets, peak))
    return failure;
  if (Failure failure = checkGroups(request, offsets))
    return failure;
  return OverlapCheck(request, offsets).run();
}
