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
//     for gathers, then for reductions:
//       join neighbours that wait, of which one is small, within the limits
//       run dry; undo it unless the step got shorter
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/BucketSizes.h"

#include <algorithm>
#include <map>

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
  /// What starts comes before what is needed.
  bool isNeed;
  uint32_t bucket;

  bool operator<(const Event &other) const {
    return std::tie(instant, isNeed, bucket) <
           std::tie(other.instant, other.isNeed, other.bucket);
  }
};

struct Stream {
  /// When the last gather is read; the next one starts then.
  double lastNeed = 0;
  double freeAt = 0;
  /// Buckets that ran one behind the other until now.
  std::vector<uint32_t> busy;
};
} // namespace

static std::vector<Event> getEvents(const BucketSizeProblem &problem,
                                    const Buckets &buckets,
                                    std::vector<Stream> &streams) {
  std::vector<Event> events;
  for (uint32_t i = 0; i != buckets.size(); ++i) {
    SizedCollective sum = describe(problem, buckets[i]);
    if (sum.stream >= streams.size())
      streams.resize(sum.stream + 1);
    double start = sum.ready, need = problem.computeSeconds;
    if (sum.isGather) {
      double &last = streams[sum.stream].lastNeed;
      start = std::min(std::max(start, last), sum.need);
      need = sum.need;
      last = std::max(last, need);
    }
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
    const SizedCollective &first =
        problem.collectives[buckets[event.bucket].front()];
    Stream &stream = streams[first.stream];
    if (!event.isNeed) {
      if (stream.freeAt <= now)
        stream.busy.clear();
      stream.busy.push_back(event.bucket);
      SizedCollective sum = describe(problem, buckets[event.bucket]);
      ends[event.bucket] = stream.freeAt =
          std::max(stream.freeAt, now) +
          problem.getSeconds(buckets[event.bucket].front(), sum.receivedBytes);
      continue;
    }
    if (ends[event.bucket] <= now)
      continue;
    waited += ends[event.bucket] - now;
    // Everything that the bucket stood in line behind; what comes later does
    // not need to be looked at again.
    auto last = std::find(stream.busy.begin(), stream.busy.end(), event.bucket);
    if (last == stream.busy.end())
      continue;
    for (auto it = stream.busy.begin(); it != std::next(last); ++it)
      run.isExposed[*it] = true;
    stream.busy.erase(stream.busy.begin(), last);
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

/// Joins neighbours of equal keys two by two; returns what it was given if none
/// can be joined.
static Buckets joinNeighbours(const BucketSizeProblem &problem,
                              const Buckets &buckets, const DryRun &run,
                              bool gathers) {
  Buckets joined;
  // By key: the last bucket that waits, and is not joined yet.
  std::map<uint32_t, size_t> open;
  for (size_t i = 0; i != buckets.size(); ++i) {
    const SizedCollective &first = problem.collectives[buckets[i].front()];
    auto it = open.find(first.key);
    bool isCandidate = first.isGather == gathers && run.isExposed[i];
    if (isCandidate && it != open.end() &&
        canJoin(problem, joined[it->second], buckets[i])) {
      joined[it->second].insert(joined[it->second].end(), buckets[i].begin(),
                                buckets[i].end());
      open.erase(it);
      continue;
    }
    if (isCandidate)
      open[first.key] = joined.size();
    else if (it != open.end())
      open.erase(it);
    joined.push_back(buckets[i]);
  }
  return joined;
}

Buckets regather::chooseBuckets(const BucketSizeProblem &problem) {
  Buckets buckets;
  for (uint32_t i = 0; i != problem.collectives.size(); ++i)
    buckets.push_back({i});
  DryRun run = runDry(problem, buckets);
  bool helps = true;
  for (unsigned round = 0; helps && round != kMaxRounds; ++round) {
    helps = false;
    for (bool gathers : {true, false}) {
      Buckets joined = joinNeighbours(problem, buckets, run, gathers);
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
