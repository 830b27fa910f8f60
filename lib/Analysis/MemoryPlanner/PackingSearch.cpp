//===- PackingSearch.cpp - Exact search for a packing ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Branch and bound over canonical packings, after M. Moffitt, "MiniMalloc: A
// Lightweight Memory Allocator for Hardware-Accelerated Machine Learning"
// (ASPLOS 2023). A packing is canonical if no block can be moved down: every
// packing can be made canonical, and a canonical one is found by placing blocks
// in the order of (offset, number), each as low as the blocks before it let it:
//
//   solve(blocks, cursor):
//     fail if some section cannot hold what it still has to, or if the same
//       state has failed before
//     for each block b whose lowest place is after the cursor, lowest first:
//       stop at places where another block would fit below        (dominance)
//       place b; split the rest where no block crosses a section border
//       if solve(part, place of b) for each part: succeed
//       take b back
//     fail
//
// Parts do not influence each other, so a part that has been solved is kept,
// and a part that fails makes its siblings superfluous.
//
//===----------------------------------------------------------------------===//

#include "PackingSearch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <array>
#include <map>
#include <numeric>

using namespace llvm;
using namespace regather::planner;

namespace {
/// Number of a block in the order that candidates of equal offset are tried in.
using Item = uint32_t;

/// States known to fail, by hash. Bounded: a new entry overwrites an old one.
class FailureCache {
public:
  /// Holds as many entries as a search with so much work can use.
  explicit FailureCache(uint64_t work)
      : keys(PowerOf2Ceil(std::clamp<uint64_t>(work / 64, 64, kMaxSize))) {}
  bool contains(uint64_t key) const { return keys[slot(key)] == key; }
  void insert(uint64_t key) { keys[slot(key)] = key; }
  void clear() { std::fill(keys.begin(), keys.end(), 0); }

private:
  static constexpr uint64_t kMaxSize = 1 << 20;
  size_t slot(uint64_t key) const { return key & (keys.size() - 1); }
  std::vector<uint64_t> keys;
};

class CanonicalSearch {
public:
  CanonicalSearch(const Problem &problem, const Component &component,
                  ArrayRef<uint64_t> floor, ArrayRef<uint32_t> order,
                  uint64_t capacity, FailureCache &failures);

  SearchOutcome run(Effort &effort);
  ArrayRef<uint64_t> getOffsets() const { return position; }

private:
  struct Candidate {
    uint64_t offset;
    Item item;
    bool operator<(const Candidate &other) const {
      return std::tie(offset, item) < std::tie(other.offset, other.item);
    }
  };
  struct Moved {
    Item item;
    uint64_t position;
  };
  /// Range of `pool`.
  struct Part {
    size_t begin, end;
  };
  /// One call of `solve` in the file comment.
  struct Frame {
    Part part;
    /// The last item placed.
    Candidate cursor = {0, 0};
    uint64_t key = 0;
    /// Range of `candidates`; `nextCandidate` is the next to try.
    size_t firstCandidate = 0, nextCandidate = 0;
    /// What the candidate that is being tried led to: see `parts`, `moves`.
    size_t firstPart = 0, nextPart = 0;
    size_t poolMark = 0, movesMark = 0;
    size_t placedMark = 0;
    bool isOpen = false;
    /// A candidate is placed, and its parts are being solved.
    bool isTrying = false;
  };

  bool open(Frame &frame);
  uint64_t leastOffset(const Frame &frame, Item item);
  bool boundsHold(const Frame &frame);
  void listCandidates(Frame &frame);
  void place(Frame &frame, Candidate candidate);
  void splitRest(const Frame &frame, Item placedItem);
  void takeBack(Frame &frame);
  void close(const Frame &frame);
  uint64_t hashState(const Frame &frame) const;
  ArrayRef<Item> itemsOf(Part part) const {
    return ArrayRef<Item>(pool).slice(part.begin, part.end - part.begin);
  }
  bool isBehind(Item item, Candidate cursor) const {
    return Candidate{position[item], item} < cursor;
  }

  uint64_t capacity;
  FailureCache &failures;
  std::vector<uint64_t> size, alignment;
  std::vector<uint32_t> begin, end;
  /// The first item of equal size, alignment and lifetime.
  std::vector<Item> kind;
  /// The lowest place of an item above what has been placed; its place once it
  /// has been placed itself.
  std::vector<uint64_t> position;
  /// Bytes not yet placed, per section.
  std::vector<uint64_t> remaining;
  /// Scratch of `boundsHold`.
  std::vector<uint64_t> stacked;
  std::vector<Candidate> byOffset;

  std::vector<Frame> frames;
  std::vector<Item> pool;
  std::vector<Part> parts;
  std::vector<Candidate> candidates;
  std::vector<Moved> moves;
  std::vector<Item> placed;
  uint64_t work = 0;
};
} // namespace

CanonicalSearch::CanonicalSearch(const Problem &problem,
                                 const Component &component,
                                 ArrayRef<uint64_t> floor,
                                 ArrayRef<uint32_t> order, uint64_t capacity,
                                 FailureCache &failures)
    : capacity(capacity), failures(failures),
      remaining(component.end - component.begin),
      stacked(component.end - component.begin) {
  for (uint32_t place : order) {
    const Block &block = problem.blocks[component.blocks[place]];
    size.push_back(block.size);
    alignment.push_back(block.alignment);
    begin.push_back(block.begin - component.begin);
    end.push_back(block.end - component.begin);
    uint64_t lowest = 0;
    for (uint32_t s = begin.back(); s != end.back(); ++s) {
      lowest = std::max(lowest, floor[s]);
      remaining[s] += block.size;
    }
    position.push_back(alignTo(lowest, block.alignment));
  }
  std::map<std::tuple<uint32_t, uint32_t, uint64_t, uint64_t>, Item> kinds;
  for (Item item = 0; item != order.size(); ++item)
    kind.push_back(
        kinds
            .try_emplace({begin[item], end[item], size[item], alignment[item]},
                         item)
            .first->second);
  pool.resize(order.size());
  std::iota(pool.begin(), pool.end(), 0);
  llvm::sort(pool, [&](Item a, Item b) {
    return std::tie(begin[a], a) < std::tie(begin[b], b);
  });
}

static uint64_t mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

uint64_t CanonicalSearch::hashState(const Frame &frame) const {
  // The key holds only what decides which packings can follow: the items that
  // are left, how low each may go, and which of them have to be pushed up
  // first.
  uint64_t key = 0;
  for (Item item : itemsOf(frame.part))
    key += mix(position[item] * 2 + isBehind(item, frame.cursor) +
               mix(kind[item] + 1));
  return key;
}

/// The least offset an item can get. One that is behind the cursor has to be
/// pushed up by an item that is still to come, and that one has to lie so low
/// that the item does not fit below it.
uint64_t CanonicalSearch::leastOffset(const Frame &frame, Item item) {
  if (!isBehind(item, frame.cursor))
    return position[item];
  uint64_t least = UINT64_MAX;
  uint64_t top = position[item] + size[item];
  for (Item other : itemsOf(frame.part)) {
    if (begin[other] >= end[item])
      break;
    ++work;
    uint64_t offset = std::max(position[other], frame.cursor.offset);
    if (end[other] > begin[item] && other != item && offset < top)
      least = std::min(least, offset + size[other]);
  }
  return least;
}

/// In each section, the items that cannot lie below some offset must all fit
/// above it.
bool CanonicalSearch::boundsHold(const Frame &frame) {
  uint32_t first = UINT32_MAX, last = 0;
  byOffset.clear();
  for (Item item : itemsOf(frame.part)) {
    uint64_t least = leastOffset(frame, item);
    if (least > capacity || least + size[item] > capacity)
      return false;
    byOffset.push_back({least, item});
    first = std::min(first, begin[item]);
    last = std::max(last, end[item]);
  }
  std::sort(byOffset.rbegin(), byOffset.rend());
  std::fill(stacked.begin() + first, stacked.begin() + last, 0);
  for (Candidate entry : byOffset) {
    uint64_t limit = capacity - entry.offset;
    uint64_t highest = 0;
    for (uint32_t s = begin[entry.item], e = end[entry.item]; s != e; ++s) {
      stacked[s] += size[entry.item];
      highest = std::max(highest, stacked[s]);
    }
    work += end[entry.item] - begin[entry.item];
    if (highest > limit)
      return false;
  }
  return true;
}

void CanonicalSearch::listCandidates(Frame &frame) {
  uint64_t limit = UINT64_MAX;
  for (Item item : itemsOf(frame.part))
    limit = std::min(limit, position[item] + size[item]);
  frame.firstCandidate = frame.nextCandidate = candidates.size();
  for (Item item : itemsOf(frame.part)) {
    if (isBehind(item, frame.cursor) || position[item] >= limit)
      continue;
    bool fits = true;
    for (uint32_t s = begin[item], e = end[item]; s != e && fits; ++s)
      fits = position[item] + remaining[s] <= capacity;
    if (fits)
      candidates.push_back({position[item], item});
  }
  std::sort(candidates.begin() + frame.firstCandidate, candidates.end());
}

/// Finds the candidates of a frame; false if none has to be tried.
bool CanonicalSearch::open(Frame &frame) {
  frame.isOpen = true;
  frame.firstCandidate = frame.nextCandidate = candidates.size();
  frame.poolMark = pool.size();
  frame.movesMark = moves.size();
  frame.placedMark = placed.size();
  frame.firstPart = frame.nextPart = parts.size();
  work += frame.part.end - frame.part.begin;
  frame.key = hashState(frame);
  if (failures.contains(frame.key) || !boundsHold(frame))
    return false;
  listCandidates(frame);
  return true;
}

void CanonicalSearch::place(Frame &frame, Candidate candidate) {
  Item item = candidate.item;
  uint64_t top = candidate.offset + size[item];
  for (uint32_t s = begin[item], e = end[item]; s != e; ++s)
    remaining[s] -= size[item];
  placed.push_back(item);
  for (size_t i = frame.part.begin; i != frame.part.end; ++i) {
    Item other = pool[i];
    if (other == item || begin[other] >= end[item] ||
        end[other] <= begin[item] || position[other] >= top)
      continue;
    moves.push_back({other, position[other]});
    position[other] = alignTo(top, alignment[other]);
  }
  splitRest(frame, item);
  frame.nextPart = frame.firstPart;
  frame.isTrying = true;
}

void CanonicalSearch::splitRest(const Frame &frame, Item placedItem) {
  uint32_t reach = 0;
  for (size_t i = frame.part.begin; i != frame.part.end; ++i) {
    Item other = pool[i];
    if (other == placedItem)
      continue;
    if (parts.size() == frame.firstPart || begin[other] >= reach)
      parts.push_back({pool.size(), pool.size()});
    reach = std::max(reach, end[other]);
    pool.push_back(other);
    parts.back().end = pool.size();
  }
}

void CanonicalSearch::takeBack(Frame &frame) {
  frame.isTrying = false;
  while (moves.size() != frame.movesMark) {
    position[moves.back().item] = moves.back().position;
    moves.pop_back();
  }
  while (placed.size() != frame.placedMark) {
    Item item = placed.back();
    for (uint32_t s = begin[item], e = end[item]; s != e; ++s)
      remaining[s] += size[item];
    placed.pop_back();
  }
  pool.resize(frame.poolMark);
  parts.resize(frame.firstPart);
}

SearchOutcome CanonicalSearch::run(Effort &effort) {
  frames.emplace_back();
  frames.back().part = {0, pool.size()};
  bool failed = false;
  while (!frames.empty()) {
    Frame &frame = frames.back();
    if (!frame.isOpen) {
      failed = !open(frame);
      if (!effort.spend(std::exchange(work, 0)))
        return SearchOutcome::Unknown;
    }
    if (failed && frame.isTrying)
      takeBack(frame);
    if (frame.isTrying) {
      if (frame.nextPart == parts.size()) {
        close(frame);
        continue;
      }
      Frame child;
      child.part = parts[frame.nextPart++];
      child.cursor = candidates[frame.nextCandidate - 1];
      frames.push_back(child);
      continue;
    }
    failed = frame.nextCandidate == candidates.size();
    if (failed) {
      failures.insert(frame.key);
      close(frame);
      continue;
    }
    place(frame, candidates[frame.nextCandidate++]);
  }
  return failed ? SearchOutcome::Impossible : SearchOutcome::Found;
}

/// Ends a call of `solve`. What it placed stays.
void CanonicalSearch::close(const Frame &frame) {
  pool.resize(frame.poolMark);
  parts.resize(frame.firstPart);
  candidates.resize(frame.firstCandidate);
  frames.pop_back();
}

/// Places in `Component::blocks`. The order in which candidates of equal offset
/// are tried decides much, and none is best for all cases, so there are
/// several: by section load (T), lifetime (W) and area (A), in the order of
/// `criteria`.
static std::vector<uint32_t> orderBlocks(const Problem &problem,
                                         const Component &component,
                                         StringRef criteria) {
  auto key = [&](uint32_t number, char criterion) -> uint64_t {
    const Block &block = problem.blocks[number];
    if (criterion == 'W')
      return block.width();
    if (criterion == 'A')
      return block.width() * block.size;
    return *std::max_element(problem.load.begin() + block.begin,
                             problem.load.begin() + block.end);
  };
  std::vector<std::pair<std::array<uint64_t, 3>, uint32_t>> keyed;
  for (auto [place, number] : enumerate(component.blocks))
    keyed.push_back({{key(number, criteria[0]), key(number, criteria[1]),
                      key(number, criteria[2])},
                     static_cast<uint32_t>(place)});
  llvm::sort(keyed, [](const auto &a, const auto &b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<uint32_t> order;
  for (const auto &entry : keyed)
    order.push_back(entry.second);
  return order;
}

SearchOutcome regather::planner::searchPacking(
    const Problem &problem, const Component &component,
    ArrayRef<uint64_t> floor, uint64_t capacity, uint64_t effortPerOrder,
    Effort &effort, std::vector<uint64_t> &offsets) {
  FailureCache failures(effortPerOrder);
  for (StringRef criteria : {"TWA", "WAT", "TAW"}) {
    std::vector<uint32_t> order = orderBlocks(problem, component, criteria);
    failures.clear();
    CanonicalSearch search(problem, component, floor, order, capacity,
                           failures);
    Effort part = effort.split(effortPerOrder);
    SearchOutcome outcome = search.run(part);
    effort.join(part);
    if (outcome == SearchOutcome::Found) {
      offsets.resize(order.size());
      for (auto [item, place] : enumerate(order))
        offsets[place] = search.getOffsets()[item];
    }
    if (outcome != SearchOutcome::Unknown)
      return outcome;
  }
  return SearchOutcome::Unknown;
}
