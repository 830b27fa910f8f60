//===- List.cpp - List schedules ------------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "List.h"
#include "Memory.h"
#include "Remaining.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <deque>
#include <limits>
#include <queue>

using namespace llvm;
using namespace regather;
using namespace regather::overlap;

namespace {
/// An operation that could be next; those of lower keys come first.
struct Candidate {
  double key = 0;
  uint32_t place = 0;
  uint32_t op = 0;

  bool operator>(const Candidate &other) const {
    return std::tie(key, place) > std::tie(other.key, other.place);
  }
};
using CandidateQueue =
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>>;

class ListScheduler {
public:
  ListScheduler(const Graph &graph, ArrayRef<uint32_t> base,
                const Limits &limits, const ListRule &rule);
  Order run();

private:
  /// So many operations of the base are candidates beside the next one.
  static constexpr uint32_t kWindow = 512;
  /// The same while the device would wait.
  static constexpr uint32_t kWideWindow = 8192;
  /// At most so many operations are passed over because memory has no room for
  /// them, or because they would delay others.
  static constexpr unsigned kMaxRefused = 4;
  /// An operation is protected if it needs at most so many collectives that are
  /// under way.
  static constexpr uint32_t kMaxMeeting = 4;
  /// The longest chain of operations that is computed for one collective alone.
  static constexpr uint32_t kMaxChain = 32;
  /// A late start is so many times the collective's seconds before it is
  /// needed.
  static constexpr double kLead = 3;
  /// Computation worth so many times the longest collective is kept for the
  /// end.
  static constexpr double kFillerShare = 4;

  struct Stream {
    /// Collectives that could start: what is needed first.
    CandidateQueue pending;
    /// Those among them that free memory, in the order of the base.
    CandidateQueue releasing;
    /// Collectives that are under way, in their order, with some whose waits
    /// have been issued.
    std::deque<uint32_t> flying;
    /// The same for collectives that are complete.
    std::deque<uint32_t> complete;
    /// Collectives whose waits have not been issued.
    uint32_t numInFlight = 0;
  };

  void findChains();
  void findFillers();
  void widen(uint32_t wanted);
  void makeReady(uint32_t op);
  void addPending(uint32_t start);
  bool issue(uint32_t op);
  void issueFreeing();
  uint32_t peekPending(CandidateQueue &queue);
  bool waitForFirst(Stream &stream, bool waits);
  bool clearStream(uint32_t number, bool waits);
  bool tryStart(uint32_t start);
  void feed(uint32_t number, double horizon);
  void feedAll(double seconds);
  double getReleaseTime(uint32_t op) const;
  bool mayDelay(uint32_t op) const;
  uint32_t getFirstComplete() const;
  bool issueReady();
  void issueHead();

  const Graph &graph;
  ArrayRef<uint32_t> base;
  Limits limits;
  ListRule rule;
  MemoryProjection memory;
  RemainingCompute remaining;
  Clock clock;
  std::vector<double> ends;
  std::vector<uint32_t> missing;
  /// Predecessors that are no part of chains.
  std::vector<uint32_t> missingHard;
  std::vector<bool> inChain;
  /// Operations that are computed last, unless the device would wait without
  /// them.
  std::vector<bool> isFiller;
  CandidateQueue ready;
  /// Candidates that memory had no room for, until some is freed.
  std::vector<Candidate> refused;
  std::vector<Stream> streams;
  /// Operations of the base before this place are looked at.
  uint32_t cursor = 0;
  uint32_t numVisible = 0;
  Order order;
};
} // namespace

//===----------------------------------------------------------------------===//
// What is ready
//===----------------------------------------------------------------------===//

ListScheduler::ListScheduler(const Graph &graph, ArrayRef<uint32_t> base,
                             const Limits &limits, const ListRule &rule)
    : graph(graph), base(base), limits(limits), rule(rule),
      memory(graph, base, limits.bytes), remaining(graph),
      clock(graph.numStreams), ends(graph.size()), missing(graph.size()),
      missingHard(graph.size()), inChain(graph.size()), isFiller(graph.size()),
      streams(graph.numStreams) {
  order.reserve(graph.size());
  findChains();
  findFillers();
  for (uint32_t op = 0; op != graph.size(); ++op) {
    missing[op] = graph.predecessors[op].size();
    missingHard[op] =
        llvm::count_if(graph.predecessors[op],
                       [&](uint32_t other) { return !inChain[other]; });
    if (graph.isStart(op) && missingHard[op] == 0)
      addPending(op);
  }
}

/// A chain is computed from what is there when the step begins: casts of the
/// shards of parameters.
void ListScheduler::findChains() {
  std::vector<uint32_t> sizes(graph.size(), 0);
  for (uint32_t op = 0; op != graph.size(); ++op) {
    sizes[op] = 1;
    for (uint32_t predecessor : graph.predecessors[op])
      sizes[op] += inChain[predecessor] ? sizes[predecessor] : kMaxChain;
    inChain[op] = graph.isCompute(op) && sizes[op] <= kMaxChain;
  }
}

/// Little is left to compute behind the last collectives. So operations that no
/// collective needs, such as updates of parameters, are kept to hide them: the
/// last ones of the base, up to a few times the longest collective.
void ListScheduler::findFillers() {
  std::vector<bool> isNeeded(graph.size());
  double longest = 0;
  for (uint32_t op = graph.size(); op-- != 0;) {
    isNeeded[op] = graph.isStart(op) ||
                   llvm::any_of(graph.successors[op], [&](uint32_t successor) {
                     return isNeeded[successor];
                   });
    if (graph.isStart(op))
      longest = std::max(longest, graph.seconds[op]);
  }
  double kept = 0;
  for (uint32_t op : llvm::reverse(base)) {
    if (kept >= kFillerShare * longest)
      return;
    if (!graph.isCompute(op) || isNeeded[op])
      continue;
    isFiller[op] = true;
    kept += graph.seconds[op];
  }
}

void ListScheduler::addPending(uint32_t start) {
  Stream &stream = streams[graph.streams[start]];
  uint32_t place = memory.getPlace(start);
  stream.pending.push(
      {graph.seconds[start] - graph.priorities[start], place, start});
  if (graph.ownedBytes[start] > graph.writtenBytes[start])
    stream.releasing.push({0, place, start});
}

/// All predecessors of `op` have been issued.
void ListScheduler::makeReady(uint32_t op) {
  double key = rule.takesLongestTail ? -graph.priorities[op] : isFiller[op];
  ready.push({key, memory.getPlace(op), op});
}

void ListScheduler::widen(uint32_t wanted) {
  for (; cursor != base.size() && numVisible < wanted; ++cursor) {
    uint32_t op = base[cursor];
    if (memory.isIssued(op))
      continue;
    ++numVisible;
    if (graph.isCompute(op) && missing[op] == 0)
      makeReady(op);
  }
}

bool ListScheduler::issue(uint32_t op) {
  if (!memory.issue(op))
    return false;
  clock.run(graph, op, ends);
  order.push_back(op);
  if (memory.getPlace(op) < cursor)
    --numVisible;
  if (graph.isCompute(op))
    remaining.remove(op, graph.seconds[op]);
  if (graph.isStart(op) && graph.hasWait(op)) {
    Stream &stream = streams[graph.streams[op]];
    stream.flying.push_back(op);
    ++stream.numInFlight;
  } else if (graph.isWait(op)) {
    --streams[graph.streams[graph.partner[op]]].numInFlight;
  }
  if (graph.ownedBytes[op] > 0 || graph.isWait(op)) {
    for (const Candidate &candidate : refused)
      ready.push(candidate);
    refused.clear();
  }
  for (uint32_t successor : graph.successors[op]) {
    --missing[successor];
    if (!inChain[op] && --missingHard[successor] == 0 &&
        graph.isStart(successor))
      addPending(successor);
    if (missing[successor] == 0 && graph.isCompute(successor) &&
        memory.getPlace(successor) < cursor)
      makeReady(successor);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// Issues the waits of complete collectives that still hold what they sent; the
/// waits of other complete collectives become ready.
void ListScheduler::issueFreeing() {
  for (Stream &stream : streams) {
    while (!stream.flying.empty()) {
      uint32_t start = stream.flying.front();
      uint32_t wait = graph.partner[start];
      if (!memory.isIssued(wait) && ends[start] > clock.now)
        break;
      stream.flying.pop_front();
      if (memory.isIssued(wait))
        continue;
      if (graph.ownedBytes[start] > 0) {
        issue(wait);
      } else {
        stream.complete.push_back(start);
        makeReady(wait);
      }
    }
  }
}

uint32_t ListScheduler::peekPending(CandidateQueue &queue) {
  while (!queue.empty() && memory.isIssued(queue.top().op))
    queue.pop();
  return queue.empty() ? Graph::kNone : queue.top().op;
}

/// Issues the wait of the first collective that `stream` has in flight; of one
/// that is not complete only if `waits`.
bool ListScheduler::waitForFirst(Stream &stream, bool waits) {
  auto waitFor = [&](std::deque<uint32_t> &starts) {
    while (!starts.empty() && memory.isIssued(graph.partner[starts.front()]))
      starts.pop_front();
    return !starts.empty() && issue(graph.partner[starts.front()]);
  };
  return waitFor(stream.complete) || (waits && waitFor(stream.flying));
}

/// True if a further collective may start on stream `number`, after the waits
/// that this takes; those of collectives under way only if `waits`.
bool ListScheduler::clearStream(uint32_t number, bool waits) {
  auto clear = [&](Stream &stream, uint32_t limit) {
    while (stream.numInFlight > limit)
      if (!waitForFirst(stream, waits))
        return false;
    return true;
  };
  for (uint32_t other : graph.conflicts[number])
    if (!clear(streams[other], 0))
      return false;
  return limits.inFlight == 0 || clear(streams[number], limits.inFlight - 1);
}

/// Starts a collective, after what is computed for it alone.
bool ListScheduler::tryStart(uint32_t start) {
  SmallVector<uint32_t> chain, worklist = {start};
  while (!worklist.empty()) {
    uint32_t op = worklist.pop_back_val();
    for (uint32_t predecessor : graph.predecessors[op]) {
      if (memory.isIssued(predecessor) || is_contained(chain, predecessor))
        continue;
      chain.push_back(predecessor);
      worklist.push_back(predecessor);
    }
  }
  llvm::sort(chain);
  for (uint32_t op : chain)
    if (!issue(op))
      return false;
  return issue(start);
}

/// Starts collectives on `stream` as long as it would have nothing to do at
/// `horizon`.
void ListScheduler::feed(uint32_t number, double horizon) {
  Stream &stream = streams[number];
  while (clock.streamFree[number] <= horizon) {
    uint32_t next = peekPending(stream.pending);
    if (next == Graph::kNone || !clearStream(number, /*waits=*/false))
      return;
    uint32_t reduction = peekPending(stream.releasing);
    double untilNeeded = remaining.getBefore(next);
    double begin = std::max(clock.streamFree[number], clock.now) - clock.now;
    if (reduction != Graph::kNone && reduction != next &&
        untilNeeded >= begin + graph.seconds[reduction] + graph.seconds[next])
      std::swap(next, reduction);
    else if (rule.startsLate &&
             untilNeeded > horizon - clock.now + kLead * graph.seconds[next])
      return;
    if (!tryStart(next) && (reduction == Graph::kNone || reduction == next ||
                            !tryStart(reduction)))
      return;
  }
}

/// Starts collectives so that no stream runs dry while the device computes for
/// so many seconds.
void ListScheduler::feedAll(double seconds) {
  double horizon = clock.now + seconds;
  for (uint32_t stream = 0; stream != graph.numStreams; ++stream)
    feed(stream, horizon);
}

//===----------------------------------------------------------------------===//
// The next operation
//===----------------------------------------------------------------------===//

/// When the collectives that `op` still needs are complete, if it needs nothing
/// but collectives under way.
double ListScheduler::getReleaseTime(uint32_t op) const {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  if (missing[op] > kMaxMeeting)
    return kNever;
  double time = 0;
  for (uint32_t needed : graph.predecessors[op]) {
    if (memory.isIssued(needed))
      continue;
    if (!graph.isWait(needed) || !memory.isIssued(graph.partner[needed]))
      return kNever;
    time = std::max(time, ends[graph.partner[needed]]);
  }
  return time;
}

/// False if an operation with a longer tail, which needs only collectives that
/// are under way, would be ready before `op` is done.
bool ListScheduler::mayDelay(uint32_t op) const {
  if (!rule.protectsLongestTail || graph.getComputeSeconds(op) == 0)
    return true;
  double end = clock.now + graph.seconds[op];
  for (const Stream &stream : streams) {
    for (uint32_t start : stream.flying) {
      uint32_t wait = graph.partner[start];
      if (memory.isIssued(wait) ||
          graph.priorities[wait] <= graph.priorities[op] || ends[start] >= end)
        continue;
      if (any_of(graph.successors[wait], [&](uint32_t user) {
            return graph.priorities[user] > graph.priorities[op] &&
                   getReleaseTime(user) < end;
          }))
        return false;
    }
  }
  return true;
}

/// Of the collectives in flight, the wait of the one that completes first.
uint32_t ListScheduler::getFirstComplete() const {
  uint32_t first = Graph::kNone;
  for (const Stream &stream : streams) {
    auto it = find_if(stream.flying, [&](uint32_t start) {
      return !memory.isIssued(graph.partner[start]);
    });
    if (it != stream.flying.end() &&
        (first == Graph::kNone || ends[*it] < ends[graph.partner[first]]))
      first = graph.partner[*it];
  }
  return first;
}

bool ListScheduler::issueReady() {
  std::vector<Candidate> later;
  bool found = false;
  for (unsigned numRefused = 0;
       !found && !ready.empty() && numRefused != kMaxRefused;) {
    Candidate candidate = ready.top();
    ready.pop();
    if (memory.isIssued(candidate.op))
      continue;
    if (!mayDelay(candidate.op)) {
      later.push_back(candidate);
      ++numRefused;
    } else if (!(found = issue(candidate.op))) {
      refused.push_back(candidate);
      ++numRefused;
    }
  }
  for (const Candidate &candidate : later)
    ready.push(candidate);
  return found;
}

/// Issues the next operation of the base, when nothing is ready or memory has
/// no room for what is.
void ListScheduler::issueHead() {
  uint32_t head = memory.getHead();
  if (graph.isStart(head)) {
    clearStream(graph.streams[head], /*waits=*/true);
    issue(head);
    return;
  }
  bool isUnderWay = graph.isWait(head) && ends[graph.partner[head]] > clock.now;
  if (!isUnderWay && mayDelay(head)) {
    issue(head);
    return;
  }
  uint32_t wait = getFirstComplete();
  feedAll(ends[graph.partner[wait]] - clock.now);
  issue(wait);
}

Order ListScheduler::run() {
  while (memory.getHead() != graph.size()) {
    issueFreeing();
    widen(kWindow);
    while (!ready.empty() && memory.isIssued(ready.top().op))
      ready.pop();
    feedAll(ready.empty() ? 0 : graph.getComputeSeconds(ready.top().op));
    if (memory.getHead() == graph.size() || issueReady())
      continue;
    if (numVisible < kWideWindow && cursor != base.size()) {
      widen(kWideWindow);
      if (issueReady())
        continue;
    }
    issueHead();
  }
  return std::move(order);
}

Order overlap::computeListSchedule(const Graph &graph, ArrayRef<uint32_t> base,
                                   const Limits &limits, const ListRule &rule) {
  return ListScheduler(graph, base, limits, rule).run();
}
