//===- PackingProblem.cpp - Blocks to pack over time ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackingProblem.h"

#include "regather/Support/LLVM/MakeFailure.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <map>
#include <numeric>
#include <set>

using namespace llvm;
using namespace regather;
using namespace regather::planner;

/// Offsets and sums of sizes stay below this, so that adding two never wraps.
static constexpr uint64_t kMaxBytes = uint64_t(1) << 62;

//===----------------------------------------------------------------------===//
// Checks of the request
//===----------------------------------------------------------------------===//

static Failure checkBuffer(size_t number, const BufferRequest &buffer) {
  if (!isPowerOf2_64(buffer.alignment))
    return makeFailure(
        "alignment of buffer {0} must be a power of two, got {1}", number,
        buffer.alignment);
  if (buffer.begin > buffer.end)
    return makeFailure("lifetime of buffer {0} ends at step {1}, before it "
                       "begins at step {2}",
                       number, buffer.end, buffer.begin);
  if (buffer.fixedOffset && *buffer.fixedOffset % buffer.alignment != 0)
    return makeFailure(
        "fixed offset {0} of buffer {1} is not a multiple of its "
        "alignment {2}",
        *buffer.fixedOffset, number, buffer.alignment);
  return Failure();
}

/// Bounds the end of every plan: at worst, each block lies above all others and
/// begins after padding.
static Failure checkSum(ArrayRef<BufferRequest> buffers) {
  uint64_t sum = 0;
  for (auto [number, buffer] : enumerate(buffers)) {
    for (uint64_t part :
         {buffer.size, buffer.alignment, buffer.fixedOffset.value_or(0)}) {
      if (part >= kMaxBytes - sum)
        return makeFailure("buffers up to number {0}, of {1} bytes, need more "
                           "than {2} bytes together",
                           number, buffer.size, kMaxBytes);
      sum += part;
    }
  }
  return Failure();
}

static Failure checkReferences(const MemoryPlanRequest &request) {
  size_t count = request.buffers.size();
  auto check = [&](uint32_t number, StringRef where) -> Failure {
    if (number < count)
      return Failure();
    return makeFailure("{0} names buffer {1}, but there are only {2}", where,
                       number, count);
  };
  for (const std::vector<uint32_t> &group : request.groups)
    for (uint32_t number : group)
      if (Failure failure = check(number, "a group"))
        return failure;
  for (const InPlaceHint &hint : request.inPlace)
    for (uint32_t number : {hint.result, hint.operand})
      if (Failure failure = check(number, "an in-place pair"))
        return failure;
  return Failure();
}

static Failure checkRequest(const MemoryPlanRequest &request) {
  if (request.buffers.size() >= UINT32_MAX / 2)
    return makeFailure("there are {0} buffers, more than can be planned",
                       request.buffers.size());
  for (auto [number, buffer] : enumerate(request.buffers))
    if (Failure failure = checkBuffer(number, buffer))
      return failure;
  if (Failure failure = checkSum(request.buffers))
    return failure;
  return checkReferences(request);
}

//===----------------------------------------------------------------------===//
// Buffers at the same place
//===----------------------------------------------------------------------===//

namespace {
/// Several buffers at one place, in steps and bytes of the request.
struct Merged {
  uint64_t size = 0;
  uint64_t alignment = 1;
  uint64_t begin = UINT64_MAX;
  uint64_t end = 0;
  std::optional<uint64_t> fixedOffset;
  /// The buffer that fixed it.
  uint32_t fixedBy = 0;

  bool isEmpty() const { return size == 0 || begin >= end; }
};

/// Merges buffers into classes, of which one member is the leader.
class Merger {
public:
  explicit Merger(ArrayRef<BufferRequest> buffers)
      : classes(buffers.size()), merged(buffers.size()) {
    for (auto [number, buffer] : enumerate(buffers)) {
      Merged &entry = merged[number];
      entry.size = buffer.size;
      entry.alignment = buffer.alignment;
      entry.fixedOffset = buffer.fixedOffset;
      entry.fixedBy = number;
      // A buffer that is never live does not prolong its group.
      if (buffer.begin != buffer.end) {
        entry.begin = buffer.begin;
        entry.end = buffer.end;
      }
    }
  }

  Failure merge(uint32_t a, uint32_t b);
  void mergeInPlace(const InPlaceHint &hint);
  uint32_t leader(uint32_t number) const { return classes.findLeader(number); }
  const Merged &operator[](uint32_t number) const {
    return merged[leader(number)];
  }

private:
  IntEqClasses classes;
  /// By leader.
  std::vector<Merged> merged;
};
} // namespace

Failure Merger::merge(uint32_t a, uint32_t b) {
  uint32_t leaderA = leader(a), leaderB = leader(b);
  if (leaderA == leaderB)
    return Failure();
  Merged x = merged[leaderA];
  const Merged &y = merged[leaderB];
  if (x.fixedOffset && y.fixedOffset && *x.fixedOffset != *y.fixedOffset)
    return makeFailure("buffers {0} and {1} have to be at the same place, but "
                       "are fixed at offsets {2} and {3}",
                       x.fixedBy, y.fixedBy, *x.fixedOffset, *y.fixedOffset);
  if (!x.fixedOffset && y.fixedOffset) {
    x.fixedOffset = y.fixedOffset;
    x.fixedBy = y.fixedBy;
  }
  x.size = std::max(x.size, y.size);
  x.alignment = std::max(x.alignment, y.alignment);
  if (x.fixedOffset && *x.fixedOffset % x.alignment != 0)
    return makeFailure("buffers {0} and {1} have to be at the same place, but "
                       "offset {2} is not a multiple of alignment {3}",
                       a, b, *x.fixedOffset, x.alignment);
  x.begin = std::min(x.begin, y.begin);
  x.end = std::max(x.end, y.end);
  merged[classes.join(leaderA, leaderB)] = x;
  return Failure();
}

/// Takes the hint if the two together never need more bytes than the larger one
/// alone: merging other pairs can cost more than it saves.
void Merger::mergeInPlace(const InPlaceHint &hint) {
  const Merged &result = (*this)[hint.result];
  const Merged &operand = (*this)[hint.operand];
  if (leader(hint.result) == leader(hint.operand) || result.isEmpty() ||
      operand.isEmpty() || result.size != operand.size ||
      operand.end != result.begin + 1 || operand.begin > result.begin ||
      (result.fixedOffset && operand.fixedOffset))
    return;
  // A fixed block may break the alignment of its partner: that is no error
  // here, since a hint does not have to be taken.
  const Merged &fixed = result.fixedOffset ? result : operand;
  uint64_t alignment = std::max(result.alignment, operand.alignment);
  if (fixed.fixedOffset && *fixed.fixedOffset % alignment != 0)
    return;
  Failure failure = merge(hint.operand, hint.result);
  assert(!failure && "both may be at one place");
  (void)failure;
}

//===----------------------------------------------------------------------===//
// Sections
//===----------------------------------------------------------------------===//

namespace {
struct Event {
  uint64_t step;
  bool isBegin;
  uint32_t block;
  /// Ends before begins: lifetimes are half-open.
  bool operator<(const Event &other) const {
    return std::tie(step, isBegin, block) <
           std::tie(other.step, other.isBegin, other.block);
  }
};
} // namespace

/// Numbers the sections and gives each block its range of them. A section ends
/// where a lifetime ends after one has begun.
static void assignSections(Problem &problem, std::vector<Event> events) {
  llvm::sort(events);
  bool hasBegun = false;
  uint32_t section = 0;
  for (const Event &event : events) {
    if (!event.isBegin && hasBegun)
      ++section;
    hasBegun = event.isBegin;
    Block &block = problem.blocks[event.block];
    (event.isBegin ? block.begin : block.end) = section;
  }
  problem.numSections = section;
  std::vector<uint64_t> change(section + 1);
  for (const Block &block : problem.blocks) {
    change[block.begin] += block.size;
    change[block.end] -= block.size;
  }
  std::partial_sum(change.begin(), change.end() - 1, change.begin());
  change.pop_back();
  problem.load = std::move(change);
}

/// See `Problem::unit`. Alignments are powers of two: one that the sizes are
/// multiples of changes nothing.
static uint64_t findUnit(ArrayRef<Block> blocks) {
  uint64_t unit = 0, alignment = 1;
  for (const Block &block : blocks) {
    unit = std::gcd(unit, block.size);
    if (block.fixed)
      unit = std::gcd(unit, block.offset);
    else
      alignment = std::max(alignment, block.alignment);
  }
  return unit % alignment == 0 ? unit : std::gcd(unit, alignment);
}

static void findLowerBound(Problem &problem) {
  for (uint64_t load : problem.load)
    problem.lowerBound = std::max(problem.lowerBound, load);
  for (const Block &block : problem.blocks)
    if (block.fixed)
      problem.lowerBound =
          std::max(problem.lowerBound, block.offset + block.size);
}

/// Sweeps over the sections with the fixed blocks in the order of offset.
static Failure checkFixedBlocks(const Problem &problem,
                                ArrayRef<const Merged *> origins) {
  std::vector<uint32_t> order;
  for (auto [number, block] : enumerate(problem.blocks))
    if (block.fixed)
      order.push_back(number);
  llvm::sort(order, [&](uint32_t a, uint32_t b) {
    return std::tie(problem.blocks[a].begin, a) <
           std::tie(problem.blocks[b].begin, b);
  });
  // Live blocks do not overlap, so only neighbours have to be compared.
  std::map<uint64_t, uint32_t> live;
  std::set<std::pair<uint32_t, uint32_t>> ends;
  for (uint32_t number : order) {
    const Block &block = problem.blocks[number];
    while (!ends.empty() && ends.begin()->first <= block.begin) {
      live.erase(problem.blocks[ends.begin()->second].offset);
      ends.erase(ends.begin());
    }
    auto above = live.lower_bound(block.offset);
    auto clash = live.end();
    if (above != live.end() && above->first < block.offset + block.size)
      clash = above;
    if (above != live.begin()) {
      const Block &below = problem.blocks[std::prev(above)->second];
      if (below.offset + below.size > block.offset)
        clash = std::prev(above);
    }
    if (clash != live.end())
      return makeFailure(
          "buffers {0} and {1} are live together, but fixed at overlapping "
          "places: offset {2}, {3} bytes and offset {4}, {5} bytes",
          origins[clash->second]->fixedBy, origins[number]->fixedBy,
          clash->first, problem.blocks[clash->second].size, block.offset,
          block.size);
    live.insert({block.offset, number});
    ends.insert({block.end, number});
  }
  return Failure();
}

Result<NormalizedRequest>
regather::planner::normalizeRequest(const MemoryPlanRequest &request) {
  if (Failure failure = checkRequest(request))
    return failure;
  Merger merger(request.buffers);
  for (const std::vector<uint32_t> &group : request.groups)
    for (size_t i = 1; i < group.size(); ++i)
      if (Failure failure = merger.merge(group[0], group[i]))
        return failure;
  for (const InPlaceHint &hint : request.inPlace)
    merger.mergeInPlace(hint);

  uint64_t granule = UINT64_MAX;
  for (const BufferRequest &buffer : request.buffers)
    granule = std::min(granule, buffer.alignment);

  NormalizedRequest result;
  Problem &problem = result.problem;
  result.blockOfBuffer.assign(request.buffers.size(), -1);
  std::vector<const Merged *> origins;
  std::vector<Event> events;
  for (uint32_t number = 0; number != request.buffers.size(); ++number) {
    const Merged &merged = merger[number];
    if (merged.isEmpty())
      continue;
    int64_t &block = result.blockOfBuffer[merger.leader(number)];
    if (block < 0) {
      block = static_cast<int64_t>(problem.blocks.size());
      events.push_back({merged.begin, true, static_cast<uint32_t>(block)});
      events.push_back({merged.end, false, static_cast<uint32_t>(block)});
      origins.push_back(&merged);
      Block &added = problem.blocks.emplace_back();
      // Every block begins at a multiple of the least alignment, so the rest of
      // the last granule is of no use to others.
      added.size = alignTo(merged.size, granule);
      added.alignment = merged.alignment;
      added.fixed = merged.fixedOffset.has_value();
      added.offset = merged.fixedOffset.value_or(0);
    }
    result.blockOfBuffer[number] = block;
  }
  assignSections(problem, std::move(events));
  problem.unit = findUnit(problem.blocks);
  findLowerBound(problem);
  if (Failure failure = checkFixedBlocks(problem, origins))
    return failure;
  return result;
}

//===----------------------------------------------------------------------===//
// Components
//===----------------------------------------------------------------------===//

std::vector<Component>
regather::planner::findComponents(const Problem &problem) {
  std::vector<uint32_t> order;
  for (auto [number, block] : enumerate(problem.blocks))
    if (!block.fixed)
      order.push_back(number);
  llvm::sort(order, [&](uint32_t a, uint32_t b) {
    return std::tie(problem.blocks[a].begin, a) <
           std::tie(problem.blocks[b].begin, b);
  });
  std::vector<Component> components;
  for (uint32_t number : order) {
    const Block &block = problem.blocks[number];
    if (components.empty() || block.begin >= components.back().end)
      components.push_back({block.begin, block.end, {}});
    components.back().end = std::max(components.back().end, block.end);
    components.back().blocks.push_back(number);
  }
  return components;
}

std::optional<std::vector<uint64_t>>
regather::planner::findFloor(const Problem &problem,
                             const Component &component) {
  std::vector<uint32_t> order;
  for (auto [number, block] : enumerate(problem.blocks))
    if (block.fixed && block.begin < component.end &&
        component.begin < block.end)
      order.push_back(number);
  llvm::sort(order, [&](uint32_t a, uint32_t b) {
    return std::tie(problem.blocks[a].offset, a) <
           std::tie(problem.blocks[b].offset, b);
  });
  std::vector<uint64_t> floor(component.end - component.begin);
  for (uint32_t number : order) {
    const Block &block = problem.blocks[number];
    uint32_t first = std::max(block.begin, component.begin);
    uint32_t last = std::min(block.end, component.end);
    for (uint32_t s = first; s < last; ++s) {
      uint64_t &section = floor[s - component.begin];
      if (section != block.offset)
        return std::nullopt;
      section += block.size;
    }
  }
  return floor;
}
