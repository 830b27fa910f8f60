//===- BucketSizes.cpp - How much to communicate at once ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   every collective is a bucket
//   repeat until nothing helps:
//     run dry
//     for each key:
//       join neighbours that wait, of which one is small, within the limits
//       run dry; undo it unless the step got shorter
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Buckets/BucketSizes.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <tuple>

using namespace regather;

/// Bounds the search; sizes about double in each round.
static constexpr unsigned kMaxRounds = 32;

using Buckets = std::vector<std::vector<uint32_t>>;

/// The bucket as one collective.
static SizedCollective describe(const BucketSizeProblem &problem,
                                const std::vector<uint32_t> &bucket) {
  SizedCollective sum = problem.collectives[bucket.front()];
  for (size_t i = 1; i < bucket.size(); ++i) {
    const SizedCollective &member = problem.collectives[bucket[i]];
    sum.ready = std::max(sum.ready, member.ready);
    sum.need = std::min(sum.need, member.need);
    sum.receivedBytes += member.receivedBytes;
    sum.wholeBytes += member.wholeBytes;
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// Dry run
//===----------------------------------------------------------------------===//

namespace {
struct Event {
  double instant;
  /// Of equal times, starts come before needs.
  bool isNeed;
  uint32_t bucket;

  bool operator<(const Event &other) const {
    return std::tie(instant, isNeed, bucket) <
           std::tie(other.instant, other.isNeed, other.bucket);
  }
};

struct Stream {
  double freeAt = 0;
  /// Buckets that ran one behind the other until now, from `firstBusy` on.
  std::vector<uint32_t> busy;
  size_t firstBusy = 0;
};

/// When gathers start: see runDry. They come in the order of the step.
class GatherWindow {
public:
  explicit GatherWindow(int64_t maxBytes) : maxBytes(maxBytes) {}

  double getStart(const SizedCollective &gather) {
    ahead += gather.wholeBytes;
    // Gathers that have been read by then no longer count.
    while (!unread.empty() && ahead > maxBytes) {
      start = std::max(start, unread.front().need);
      ahead -= unread.front().wholeBytes;
      unread.pop_front();
    }
    unread.push_back(gather);
    return std::min(std::max(start, gather.ready), gather.need);
  }

private:
  int64_t maxBytes;
  /// Gathers that have started and are not read yet, and their bytes.
  std::deque<SizedCollective> unread;
  int64_t ahead = 0;
  double start = 0;
};
} // namespace

static std::vector<Event> getEvents(const BucketSizeProblem &problem,
                                    const Buckets &buckets,
                                    std::vector<Stream> &streams) {
  std::vector<Event> events;
  GatherWindow window(problem.maxBytes);
  for (uint32_t i = 0; i != buckets.size(); ++i) {
    SizedCollective sum = describe(problem, buckets[i]);
    if (sum.stream >= streams.size())
      streams.resize(sum.stream + 1);
    double start = sum.isGather ? window.getStart(sum) : sum.ready;
    double need = sum.isGather ? sum.need : problem.computeSeconds;
    events.push_back({start, /*isNeed=*/false, i});
    events.push_back({need, /*isNeed=*/true, i});
  }
  std::sort(events.begin(), events.end());
  return events;
}

DryRun regather::runDry(const BucketSizeProblem &problem,
                        const Buckets &buckets) {
  DryRun run;
  run.isExposed.resize(buckets.size());
  std::vector<Stream> streams;
  std::vector<Event> events = getEvents(problem, buckets, streams);
  std::vector<double> ends(buckets.size());
  double waited = 0;
  for (const Event &event : events) {
    double now = event.instant + waited;
    uint32_t number = buckets[event.bucket].front();
    Stream &stream = streams[problem.collectives[number].stream];
    if (!event.isNeed) {
      if (stream.freeAt <= now)
        stream.firstBusy = stream.busy.size();
      stream.busy.push_back(event.bucket);
      SizedCollective sum = describe(problem, buckets[event.bucket]);
      ends[event.bucket] = stream.freeAt =
          std::max(stream.freeAt, now) +
          problem.getSeconds(number, sum.receivedBytes);
      continue;
    }
    if (ends[event.bucket] <= now)
      continue;
    waited += ends[event.bucket] - now;
    run.isExposed[event.bucket] = true;
    // The buckets that this one waits for on its stream. Later buckets wait for
    // this one, so those are never looked at again.
    auto first = stream.busy.begin() + stream.firstBusy;
    auto last = std::find(first, stream.busy.end(), event.bucket);
    if (last == stream.busy.end())
      continue;
    for (auto it = first; it != std::next(last); ++it)
      run.isExposed[*it] = true;
    stream.firstBusy = last - stream.busy.begin();
  }
  run.seconds = problem.computeSeconds + waited;
  return run;
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

static bool canJoin(const BucketSizeProblem &problem,
                    const std::vector<uint32_t> &a,
                    const std::vector<uint32_t> &b) {
  SizedCollective first = describe(problem, a), second = describe(problem, b);
  if (std::min(first.receivedBytes, second.receivedBytes) >=
          first.saturatingBytes ||
      first.wholeBytes + second.wholeBytes > problem.maxBytes)
    return false;
  if (first.isGather)
    return true;
  double limit = problem.maxCompute;
  if (limit == 0)
    limit = problem.getSeconds(a.front(),
                               first.receivedBytes + second.receivedBytes);
  double begin = problem.collectives[a.front()].ready;
  for (const std::vector<uint32_t> *bucket : {&a, &b})
    for (uint32_t member : *bucket)
      begin = std::min(begin, problem.collectives[member].ready);
  return std::max(first.ready, second.ready) - begin <= limit;
}

/// Joins neighbours with this key two by two.
static Buckets joinNeighbours(const BucketSizeProblem &problem,
                              const Buckets &buckets, const DryRun &run,
                              uint32_t key) {
  Buckets joined;
  // The last bucket of the key, if it waits and is not joined yet.
  std::optional<size_t> last;
  for (size_t i = 0; i != buckets.size(); ++i) {
    bool hasKey = problem.collectives[buckets[i].front()].key == key;
    if (hasKey && run.isExposed[i] && last &&
        canJoin(problem, joined[*last], buckets[i])) {
      joined[*last].insert(joined[*last].end(), buckets[i].begin(),
                           buckets[i].end());
      last.reset();
      continue;
    }
    if (hasKey)
      last = run.isExposed[i] ? std::optional(joined.size()) : std::nullopt;
    joined.push_back(buckets[i]);
  }
  return joined;
}

Buckets regather::chooseBuckets(const BucketSizeProblem &problem) {
  Buckets buckets;
  std::set<uint32_t> keys;
  for (uint32_t i = 0; i != problem.collectives.size(); ++i) {
    buckets.push_back({i});
    keys.insert(problem.collectives[i].key);
  }
  DryRun run = runDry(problem, buckets);
  bool helps = true;
  for (unsigned round = 0; helps && round != kMaxRounds; ++round) {
    helps = false;
    for (uint32_t key : keys) {
      Buckets joined = joinNeighbours(problem, buckets, run, key);
      if (joined.size() == buckets.size())
        continue;
      DryRun shorter = runDry(problem, joined);
      if (shorter.seconds >= run.seconds)
        continue;
      buckets = std::move(joined);
      run = std::move(shorter);
      helps = true;
    }
  }
  return buckets;
}

int64_t regather::getDefaultMaxBytes(const BucketSizeProblem &problem) {
  if (llvm::any_of(problem.collectives,
                   [](const SizedCollective &sized) { return sized.isGather; }))
    return problem.unitBytes;
  double bytes = static_cast<double>(problem.unitBytes);
  // A rank receives no less than half of a whole tensor.
  for (const SizedCollective &sized : problem.collectives)
    bytes = std::max(bytes, 2 * sized.saturatingBytes);
  constexpr double kMost = 1e15;
  return static_cast<int64_t>(std::min(bytes, kMost));
}
