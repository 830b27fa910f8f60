//===- Greedy.cpp - Quick packings ----------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Greedy.h"
#include "Occupancy.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <array>
#include <numeric>
#include <random>
#include <tuple>

using namespace llvm;
using namespace regather::planner;

namespace {
/// Places in `Component::blocks`.
using Order = std::vector<uint32_t>;

/// Higher keys go first; ties go by the next key, then by number.
using Key = std::array<uint64_t, 2>;

struct OrderRule {
  StringRef name;
  Key (*key)(const Block &block, uint64_t highestLoad);
};
} // namespace

static const OrderRule kRules[] = {
    {"first fit by size",
     [](const Block &b, uint64_t) { return Key{b.size, b.width()}; }},
    {"first fit by lifetime",
     [](const Block &b, uint64_t) { return Key{b.width(), b.size}; }},
    {"first fit by area",
     [](const Block &b, uint64_t) {
       // Both factors fit: sizes end below 2^62, but the product may not.
       return Key{static_cast<uint64_t>(static_cast<long double>(b.size) *
                                        b.width() / 4294967296.0L),
                  b.size};
     }},
    {"first fit by load",
     [](const Block &b, uint64_t load) { return Key{load, b.width()}; }},
    {"first fit by begin",
     [](const Block &b, uint64_t) { return Key{~uint64_t(b.begin), b.size}; }},
    {"first fit by end",
     [](const Block &b, uint64_t) { return Key{uint64_t(b.end), b.size}; }},
};

/// For each block of the component, the highest load of its sections.
static std::vector<uint64_t> findHighestLoads(const Problem &problem,
                                              const Component &component) {
  // Sparse table: level k holds the highest load of 2^k sections.
  std::vector<std::vector<uint64_t>> table = {
      {problem.load.begin() + component.begin,
       problem.load.begin() + component.end}};
  for (size_t span = 1; 2 * span <= table.front().size(); span *= 2) {
    const std::vector<uint64_t> &below = table.back();
    std::vector<uint64_t> level(below.size() - span);
    for (size_t i = 0; i != level.size(); ++i)
      level[i] = std::max(below[i], below[i + span]);
    table.push_back(std::move(level));
  }
  std::vector<uint64_t> highest;
  for (uint32_t number : component.blocks) {
    const Block &block = problem.blocks[number];
    unsigned level = Log2_32(block.width());
    const std::vector<uint64_t> &row = table[level];
    highest.push_back(
        std::max(row[block.begin - component.begin],
                 row[block.end - component.begin - (uint64_t(1) << level)]));
  }
  return highest;
}

static Order sortBlocks(const Problem &problem, const Component &component,
                        const OrderRule &rule, ArrayRef<uint64_t> loads) {
  std::vector<Key> keys;
  for (auto [place, number] : enumerate(component.blocks))
    keys.push_back(rule.key(problem.blocks[number], loads[place]));
  Order order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](uint32_t a, uint32_t b) {
    return keys[a] != keys[b] ? keys[a] > keys[b] : a < b;
  });
  return order;
}

/// The sections of the component with its fixed blocks.
static Occupancy occupyFixed(const Problem &problem,
                             const Component &component) {
  Occupancy occupancy(component.end - component.begin);
  for (const Block &block : problem.blocks) {
    uint32_t begin = std::max(block.begin, component.begin);
    uint32_t end = std::min(block.end, component.end);
    if (block.fixed && begin < end)
      occupancy.insert(begin - component.begin, end - component.begin,
                       block.offset, block.size);
  }
  return occupancy;
}

namespace {
/// One packing, as far as it got.
struct Attempt {
  std::vector<uint64_t> offsets;
  uint64_t peak = 0;
  uint64_t work = 0;
  /// Places in the order of the blocks that ended above what was wanted.
  std::vector<uint32_t> tooHigh;
};
} // namespace

/// Steps of the search for places that an order may take for each block, which
/// keeps the whole linear. Orders that leave many small gaps take more; others
/// take about twenty.
static constexpr uint64_t kMaxWorkPerBlock = 256;

/// Places the blocks in order. Gives up at the first that ends at or above
/// `limit`.
static Attempt packInOrder(const Problem &problem, const Component &component,
                           const Occupancy &fixed, const Order &order,
                           uint64_t wanted, uint64_t limit) {
  Attempt attempt;
  attempt.offsets.resize(order.size());
  Occupancy occupancy = fixed;
  uint64_t maxWork = kMaxWorkPerBlock * order.size();
  for (auto [rank, place] : enumerate(order)) {
    const Block &block = problem.blocks[component.blocks[place]];
    uint32_t begin = block.begin - component.begin;
    uint32_t end = block.end - component.begin;
    uint64_t offset = occupancy.findLowest(
        begin, end, block.size, block.alignment, attempt.work, maxWork);
    uint64_t top = offset + block.size;
    attempt.offsets[place] = offset;
    attempt.peak = std::max(attempt.peak, top);
    if (top > wanted)
      attempt.tooHigh.push_back(rank);
    if (top >= limit)
      break;
    occupancy.insert(begin, end, offset, block.size);
  }
  return attempt;
}

void regather::planner::packInOrders(const Problem &problem,
                                     const Component &component,
                                     uint64_t target, Incumbent &best) {
  std::vector<uint64_t> loads = findHighestLoads(problem, component);
  Occupancy fixed = occupyFixed(problem, component);
  for (const OrderRule &rule : kRules) {
    if (best.peak <= target)
      return;
    Order order = sortBlocks(problem, component, rule, loads);
    Attempt attempt =
        packInOrder(problem, component, fixed, order, target, best.peak);
    if (attempt.peak < best.peak)
      best = {std::move(attempt.offsets), attempt.peak, rule.name};
  }
}

void regather::planner::improveOrder(const Problem &problem,
                                     const Component &component,
                                     uint64_t target, Effort &effort,
                                     Incumbent &best) {
  Occupancy fixed = occupyFixed(problem, component);
  // The packing found so far is reproduced, or bettered, by placing the blocks
  // in the order of their offsets.
  Order order(component.blocks.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](uint32_t a, uint32_t b) {
    return std::tie(best.offsets[a], a) < std::tie(best.offsets[b], b);
  });
  // A generator gives the same numbers everywhere; a distribution of the
  // standard library need not.
  std::mt19937_64 random(component.blocks.size());
  Order next = order;
  while (best.peak > target && !effort.isSpent()) {
    Attempt attempt =
        packInOrder(problem, component, fixed, next, target, UINT64_MAX);
    // Copying the fixed blocks and inserting the others is work, too.
    effort.spend(attempt.work * 8 + next.size() * 256);
    if (attempt.peak <= best.peak) {
      if (attempt.peak < best.peak)
        best = {attempt.offsets, attempt.peak, "iterated first fit"};
      order = next;
    } else {
      next = order;
      attempt.tooHigh = {static_cast<uint32_t>(random() % next.size())};
    }
    if (attempt.tooHigh.empty())
      continue;
    // A block that reached too high moves to an earlier place of the order.
    uint32_t from = attempt.tooHigh[random() % attempt.tooHigh.size()];
    uint32_t to = from == 0 ? random() % next.size() : random() % from;
    if (from > to)
      std::rotate(next.begin() + to, next.begin() + from,
                  next.begin() + from + 1);
    else
      std::rotate(next.begin() + from, next.begin() + from + 1,
                  next.begin() + to + 1);
  }
}
