//===- CallOrder.cpp - Whether recorded calls are ordered -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/CallOrder.h"

#include "CallChecker.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace regather;
using namespace regather::callorder;

StringRef regather::getKindName(CallFinding::Kind kind) {
  switch (kind) {
  case CallFinding::Kind::Race:
    return "race";
  case CallFinding::Kind::NeverWritten:
    return "never-written";
  case CallFinding::Kind::NotAllocated:
    return "not-allocated";
  case CallFinding::Kind::EventNotRecorded:
    return "event-not-recorded";
  case CallFinding::Kind::IllegalCapture:
    return "illegal-capture";
  case CallFinding::Kind::WithinStep:
    return "within-step";
  case CallFinding::Kind::UnknownGraph:
    return "unknown-graph";
  case CallFinding::Kind::Failed:
    return "failed";
  case CallFinding::Kind::RankOrder:
    return "rank-order";
  }
  llvm_unreachable("unknown kind");
}

namespace {
/// What one rank starts, and in which record.
struct RankCollectives {
  int64_t rank;
  size_t record;
  const std::vector<StartedCollective> *started;
};
} // namespace

/// Processes number their communicators by themselves.
static bool areAlike(const StartedCollective &a, const StartedCollective &b) {
  return a.communicator == b.communicator && a.call->name == b.call->name &&
         a.call->count == b.call->count && a.call->type == b.call->type &&
         a.call->reduction == b.call->reduction && a.call->peer == b.call->peer;
}

static bool combines(const RecordedCall &call) {
  return StringRef(call.name).contains("Reduce");
}

static std::string describeCollective(const StartedCollective &collective) {
  const RecordedCall &call = *collective.call;
  return formatv(
      "{0} of {1} elements of type {2}{3}{4} over communicator {5}",
      describe(call, collective.launch), call.count, call.type,
      combines(call) ? formatv(" by reduction {0}", call.reduction).str() : "",
      call.name == "ncclBroadcast"
          ? formatv(" from position {0}", call.peer).str()
          : "",
      call.comm);
}

/// Compares what a rank starts with what the first one does.
static void compare(const RankCollectives &first, const RankCollectives &other,
                    std::vector<CallFinding> &findings) {
  size_t size = std::min(first.started->size(), other.started->size());
  for (size_t i = 0; i != size; ++i) {
    const StartedCollective &a = (*first.started)[i], &b = (*other.started)[i];
    if (areAlike(a, b))
      continue;
    findings.push_back(
        {CallFinding::Kind::RankOrder,
         formatv("collective {0} of rank {1} is {2}, but that of rank {3} is "
                 "{4}",
                 i + 1, other.rank, describeCollective(b), first.rank,
                 describeCollective(a)),
         b.call->line, other.record});
    return;
  }
  if (first.started->size() == other.started->size())
    return;
  bool firstHasMore = first.started->size() > size;
  const RankCollectives &longer = firstHasMore ? first : other;
  const RankCollectives &shorter = firstHasMore ? other : first;
  const StartedCollective &extra = (*longer.started)[size];
  findings.push_back(
      {CallFinding::Kind::RankOrder,
       formatv("rank {0} starts {1} collectives, but rank {2} starts {3}: the "
               "next is {4}",
               shorter.rank, size, longer.rank, longer.started->size(),
               describeCollective(extra)),
       extra.call->line, longer.record});
}

std::vector<CallFinding>
regather::checkCalls(ArrayRef<std::vector<RecordedCall>> records,
                     CallStatistics *statistics) {
  std::vector<std::unique_ptr<CallChecker>> checkers;
  std::vector<CallFinding> findings;
  std::vector<RankCollectives> ranks;
  CallStatistics total;
  for (size_t i = 0; i != records.size(); ++i) {
    auto &checker = *checkers.emplace_back(std::make_unique<CallChecker>(i));
    checker.run(records[i]);
    findings.insert(findings.end(), checker.findings.begin(),
                    checker.findings.end());
    for (const auto &[rank, started] : checker.collectives)
      ranks.push_back({rank, i, &started});
    total.calls += checker.statistics.calls;
    total.streams += checker.statistics.streams;
    total.graphLaunches += checker.statistics.graphLaunches;
    total.replayedCalls += checker.statistics.replayedCalls;
  }
  for (size_t i = 1; i < ranks.size(); ++i)
    compare(ranks.front(), ranks[i], findings);
  if (statistics)
    *statistics = total;
  return findings;
}
