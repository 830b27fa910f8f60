//===- MemoryRuns.cpp - Bytes of choices over time ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryRuns.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;
using namespace regather;
using namespace regather::sharding;

/// The times at which something begins to live and something ends before
/// anything else begins: at any other, no more is live than at one of these.
static std::vector<int64_t> findFullTimes(const ShardingProblem &problem) {
  std::vector<int64_t> begins, ends, times;
  for (const ShardingNode &node : problem.nodes)
    if (node.begin < node.end) {
      begins.push_back(node.begin);
      ends.push_back(node.end);
    }
  llvm::sort(begins);
  begins.erase(llvm::unique(begins), begins.end());
  llvm::sort(ends);
  for (size_t i = 0; i != begins.size(); ++i) {
    auto end = llvm::upper_bound(ends, begins[i]);
    if (end != ends.end() && (i + 1 == begins.size() || *end <= begins[i + 1]))
      times.push_back(begins[i]);
  }
  return times;
}

/// Sums the bytes of the nodes that are tied into each core node.
static void addRuns(const ShardingProblem &problem, const CoreProblem &core,
                    MemoryRuns &memory) {
  struct Change {
    uint32_t time;
    uint32_t node;
    bool isBegin;
  };
  std::vector<std::vector<Change>> changes(core.costs.size());
  auto findTime = [&](int64_t time) -> uint32_t {
    return llvm::lower_bound(memory.times, time) - memory.times.begin();
  };
  for (auto [index, node] : enumerate(problem.nodes)) {
    uint32_t begin = findTime(node.begin), end = findTime(node.end);
    if (begin >= end)
      continue;
    uint32_t coreNode = core.ties[index].coreNode;
    changes[coreNode].push_back({begin, uint32_t(index), true});
    changes[coreNode].push_back({end, uint32_t(index), false});
  }
  memory.runs.resize(core.costs.size());
  for (auto [coreNode, list] : enumerate(changes)) {
    // Sums do not depend on the order at one time.
    llvm::sort(
        list, [](const Change &a, const Change &b) { return a.time < b.time; });
    std::vector<int64_t> live(core.costs[coreNode].size(), 0);
    for (size_t i = 0; i != list.size(); ++i) {
      ArrayRef<uint32_t> strategies = core.ties[list[i].node].strategies;
      ArrayRef<int64_t> bytes = problem.nodes[list[i].node].bytes;
      for (auto [sum, strategy] : zip_equal(live, strategies))
        sum += list[i].isBegin ? bytes[strategy] : -bytes[strategy];
      if (i + 1 == list.size() || list[i + 1].time == list[i].time)
        continue;
      MemoryRun run{list[i].time, list[i + 1].time, live};
      int64_t fewest = *min_element(live);
      for (int64_t &above : run.bytes)
        above -= fewest;
      for (uint32_t time = run.begin; time != run.end; ++time)
        memory.room[time] -= fewest;
      if (any_of(run.bytes, [](int64_t above) { return above != 0; }))
        memory.runs[coreNode].push_back(std::move(run));
    }
  }
}

namespace {
/// Walks over time and knows which run of each node is current.
class TimeSweep {
public:
  explicit TimeSweep(const MemoryRuns &memory)
      : starting(memory.room.size() + 1) {
    for (auto [node, runs] : enumerate(memory.runs))
      for (auto [i, run] : enumerate(runs)) {
        starting[run.begin].push_back({uint32_t(node), &run});
        if (i + 1 == runs.size() || runs[i + 1].begin != run.end)
          starting[run.end].push_back({uint32_t(node), nullptr});
      }
  }

  struct Start {
    uint32_t node;
    /// None if the node takes nothing above its fewest bytes from now on.
    const MemoryRun *run;
  };
  ArrayRef<Start> getStarts(uint32_t time) const { return starting[time]; }

private:
  std::vector<std::vector<Start>> starting;
};
} // namespace

/// The most bytes by which a strategy takes more in `a` than in `b`.
static int64_t getLargestExcess(const MemoryRun *a, const MemoryRun *b) {
  if (!a)
    return b ? -*min_element(b->bytes) : 0;
  int64_t largest = std::numeric_limits<int64_t>::min();
  for (auto [s, bytes] : enumerate(a->bytes))
    largest = std::max(largest, bytes - (b ? b->bytes[s] : 0));
  return largest;
}

/// Whether memory may run out at each time.
static std::vector<bool> findTightTimes(const MemoryRuns &memory) {
  TimeSweep sweep(memory);
  std::vector<int64_t> most(memory.runs.size(), 0);
  std::vector<bool> isTight(memory.room.size());
  int64_t all = 0;
  for (uint32_t time = 0; time != memory.room.size(); ++time) {
    for (auto [node, run] : sweep.getStarts(time)) {
      int64_t now = run ? *max_element(run->bytes) : 0;
      all += now - most[node];
      most[node] = now;
    }
    isTight[time] = all > memory.room[time];
  }
  return isTight;
}

/// False for times next to one at which no choice takes less.
static std::vector<bool> findFullestTimes(const MemoryRuns &memory) {
  TimeSweep sweep(memory);
  struct Difference {
    const MemoryRun *then = nullptr;
    const MemoryRun *now = nullptr;
    int64_t more = 0;
    int64_t less = 0;
  };
  std::vector<Difference> nodes(memory.runs.size());
  std::vector<uint32_t> changed;
  std::vector<bool> isKept(memory.room.size(), true);
  uint32_t last = 0;
  int64_t more = 0, less = 0;
  auto restart = [&](uint32_t time) {
    for (uint32_t node : changed)
      nodes[node] = {nodes[node].now, nodes[node].now, 0, 0};
    changed.clear();
    more = less = 0;
    last = time;
  };
  for (uint32_t time = 0; time != memory.room.size(); ++time) {
    for (auto [node, run] : sweep.getStarts(time)) {
      Difference &difference = nodes[node];
      changed.push_back(node);
      more -= difference.more;
      less -= difference.less;
      difference.now = run;
      difference.more = getLargestExcess(run, difference.then);
      difference.less = getLargestExcess(difference.then, run);
      more += difference.more;
      less += difference.less;
    }
    if (time == 0) {
      restart(0);
      continue;
    }
    int64_t lessRoom = memory.room[last] - memory.room[time];
    if (more + lessRoom <= 0) {
      isKept[time] = false;
    } else {
      if (less - lessRoom <= 0)
        isKept[last] = false;
      restart(time);
    }
  }
  return isKept;
}

static void keepTimes(MemoryRuns &memory, const std::vector<bool> &isKept) {
  std::vector<uint32_t> numbers(isKept.size() + 1);
  uint32_t numKept = 0;
  for (uint32_t time = 0; time != isKept.size(); ++time) {
    numbers[time] = numKept;
    if (!isKept[time])
      continue;
    memory.room[numKept] = memory.room[time];
    memory.times[numKept++] = memory.times[time];
  }
  numbers.back() = numKept;
  memory.room.resize(numKept);
  memory.times.resize(numKept);
  for (std::vector<MemoryRun> &runs : memory.runs) {
    std::vector<MemoryRun> kept;
    for (MemoryRun &run : runs) {
      run.begin = numbers[run.begin];
      run.end = numbers[run.end];
      if (run.begin == run.end)
        continue;
      if (!kept.empty() && kept.back().end == run.begin &&
          kept.back().bytes == run.bytes)
        kept.back().end = run.end;
      else
        kept.push_back(std::move(run));
    }
    runs = std::move(kept);
  }
}

MemoryRuns regather::sharding::findMemoryRuns(const ShardingProblem &problem,
                                              const CoreProblem &core) {
  MemoryRuns memory;
  if (!problem.limit) {
    memory.runs.resize(core.costs.size());
    return memory;
  }
  memory.times = findFullTimes(problem);
  memory.room.assign(memory.times.size(), *problem.limit);
  addRuns(problem, core, memory);
  keepTimes(memory, findTightTimes(memory));
  size_t before;
  do {
    before = memory.room.size();
    keepTimes(memory, findFullestTimes(memory));
  } while (memory.room.size() < before - before / 16);
  return memory;
}
