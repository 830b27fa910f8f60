//===- Reports.cpp - What ranks do wrong together -------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Messages name ranks in ascending order and merge those that do the same, so
// that 64 ranks with one mistake give one error.
//
//===----------------------------------------------------------------------===//

#include "RankThreads.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace regather;
using namespace regather::interp;

//===----------------------------------------------------------------------===//
// Phrases
//===----------------------------------------------------------------------===//

std::string regather::interp::describeRanks(ArrayRef<int64_t> ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(ranks, os);
  return text;
}

std::string regather::interp::describeGroup(tg::CollectiveOpInterface op,
                                            const Group &group) {
  std::string text = "group [";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(op.getAxesAttr().getNames(), os,
                        [&](StringAttr name) { os << name.getValue(); });
  os << "] {";
  llvm::interleaveComma(group.members, os);
  os << '}';
  return text;
}

static std::string quoteName(Operation *op) {
  return "'" + op->getName().getStringRef().str() + "'";
}

std::string
regather::interp::describeCollective(const PendingCollective &collective) {
  Operation *op = collective.starters[collective.getFirstStarter()];
  return quoteName(op) + " (collective " + std::to_string(collective.number) +
         " of " +
         describeGroup(cast<tg::CollectiveOpInterface>(op), *collective.group) +
         ")";
}

/// The members that have not started `collective`.
static SmallVector<int64_t> getMissing(const PendingCollective &collective) {
  SmallVector<int64_t> missing;
  for (auto [position, op] : llvm::enumerate(collective.starters))
    if (!op)
      missing.push_back(collective.group->members[position]);
  llvm::sort(missing);
  return missing;
}

//===----------------------------------------------------------------------===//
// Mismatches, found when a collective starts
//===----------------------------------------------------------------------===//

bool RankThreads::reportMismatch(int64_t rank, Operation *op,
                                 const PendingCollective &collective) {
  if (collective.numStarted == 0)
    return false;
  unsigned position = collective.getFirstStarter();
  Operation *other = collective.starters[position];
  int64_t otherRank = collective.group->members[position];
  std::optional<std::string> difference = findDifference(op, other, otherRank);
  if (!difference)
    return false;
  bool sameKind = op->getName() == other->getName();
  Report report{op->getLoc(),
                describeRanks({rank}) + " starts " + quoteName(op) +
                    " as collective " + std::to_string(collective.number) +
                    " of " +
                    describeGroup(cast<tg::CollectiveOpInterface>(op),
                                  *collective.group) +
                    ", but " + describeRanks({otherRank}) + " starts " +
                    (sameKind ? "another " : "") + quoteName(other),
                {}};
  report.notes.emplace_back(other->getLoc(),
                            describeRanks({otherRank}) + " starts this");
  if (sameKind)
    report.notes.emplace_back(op->getLoc(), *difference);
  reports.push_back(std::move(report));
  return true;
}

/// Two ranks must start all collectives that both take part in, of whichever
/// group, in one order: with two groups in flight at once, the two ranks would
/// otherwise wait for each other.
bool RankThreads::reportOrder(
    int64_t rank, unsigned position,
    const std::shared_ptr<PendingCollective> &collective) {
  for (int64_t member : collective->group->members) {
    if (member == rank)
      continue;
    PairOrder &order =
        pairOrders[{std::min(rank, member), std::max(rank, member)}];
    bool isFirst = rank < member;
    if (order.ahead.empty() || order.isFirstAhead == isFirst) {
      order.isFirstAhead = isFirst;
      order.ahead.push_back(collective);
      continue;
    }
    std::shared_ptr<PendingCollective> expected = order.ahead.front();
    order.ahead.pop_front();
    if (expected == collective)
      continue;
    Operation *op = collective->starters[position];
    unsigned other = llvm::find(expected->group->members, member) -
                     expected->group->members.begin();
    Operation *otherOp = expected->starters[other];
    Report report{
        op->getLoc(),
        describeRanks({rank}) + " starts " + quoteName(op) + " (collective " +
            std::to_string(collective->number) + " of " +
            describeGroup(cast<tg::CollectiveOpInterface>(op),
                          *collective->group) +
            ") where " + describeRanks({member}) + " starts " +
            describeCollective(*expected) +
            "; ranks must start their common collectives in one order",
        {}};
    report.notes.emplace_back(otherOp->getLoc(),
                              describeRanks({member}) + " starts this");
    reports.push_back(std::move(report));
    return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Deadlocks, found when nothing can happen
//===----------------------------------------------------------------------===//

/// Says what ranks do instead of starting a collective.
void RankThreads::addWhereabouts(ArrayRef<int64_t> missing, Report &report) {
  SmallVector<int64_t> finished;
  llvm::MapVector<Operation *, SmallVector<int64_t>> waiting;
  for (int64_t rank : missing) {
    if (ranks[rank]->state == State::Blocked)
      waiting[ranks[rank]->wait].push_back(rank);
    else
      finished.push_back(rank);
  }
  for (auto &[op, who] : waiting)
    report.notes.emplace_back(
        op->getLoc(),
        describeRanks(who) + (who.size() == 1 ? " waits" : " wait") +
            " here for " + describeCollective(*ranks[who.front()]->awaited));
  if (!finished.empty())
    report.notes.emplace_back(report.loc,
                              describeRanks(finished) +
                                  (finished.size() == 1 ? " has" : " have") +
                                  " finished");
}

void RankThreads::reportWaiters(PendingCollective &collective,
                                ArrayRef<int64_t> waiting) {
  SmallVector<int64_t> missing = getMissing(collective);
  Report report{ranks[waiting.front()]->wait->getLoc(),
                describeRanks(waiting) +
                    (waiting.size() == 1 ? " waits for " : " wait for ") +
                    describeCollective(collective) + ", which " +
                    describeRanks(missing) +
                    (missing.size() == 1 ? " has" : " have") + " not started",
                {}};
  Operation *start = collective.starters[collective.getFirstStarter()];
  report.notes.emplace_back(start->getLoc(), "started here");
  addWhereabouts(missing, report);
  reports.push_back(std::move(report));
}

void RankThreads::reportNeverStarted(const PendingCollective &collective) {
  Operation *op = collective.starters[collective.getFirstStarter()];
  SmallVector<int64_t> missing = getMissing(collective), started;
  for (int64_t member : collective.group->members)
    if (!llvm::is_contained(missing, member))
      started.push_back(member);
  llvm::sort(started);
  reports.push_back({op->getLoc(),
                     describeRanks(started) +
                         (started.size() == 1 ? " starts " : " start ") +
                         describeCollective(collective) + ", which " +
                         describeRanks(missing) + " never " +
                         (missing.size() == 1 ? "starts" : "start"),
                     {}});
}

void RankThreads::reportStuck() {
  // Ranks that failed explain why others are stuck.
  if (!rankErrors.empty())
    return;
  // Blocked ranks that wait at one place for one collective, by lowest rank.
  llvm::MapVector<std::pair<PendingCollective *, Operation *>,
                  SmallVector<int64_t>>
      waiting;
  for (auto [i, rank] : llvm::enumerate(ranks))
    if (rank->state == State::Blocked)
      waiting[{rank->awaited, rank->wait}].push_back(i);
  for (auto &[place, who] : waiting)
    reportWaiters(*place.first, who);
  if (!waiting.empty())
    return;
  auto getKey = [](const std::shared_ptr<PendingCollective> &collective) {
    return std::make_pair(collective->group->id, collective->number);
  };
  // The order of first starts depends on the seed; groups do not.
  llvm::sort(pending, [&](const auto &a, const auto &b) {
    return getKey(a) < getKey(b);
  });
  for (const std::shared_ptr<PendingCollective> &collective : pending)
    reportNeverStarted(*collective);
}

//===----------------------------------------------------------------------===//
// Errors of single ranks
//===----------------------------------------------------------------------===//

void RankThreads::reportRankErrors() {
  if (!reports.empty())
    return;
  llvm::sort(rankErrors, [](const RankError &a, const RankError &b) {
    return a.rank < b.rank;
  });
  // The same error on several ranks is one report.
  llvm::MapVector<Operation *,
                  std::vector<std::pair<std::string, SmallVector<int64_t>>>>
      merged;
  for (RankError &error : rankErrors) {
    auto &messages = merged[error.op];
    auto it = llvm::find_if(messages, [&](const auto &entry) {
      return entry.first == error.message;
    });
    if (it == messages.end())
      it = messages.insert(it, {error.message, {}});
    it->second.push_back(error.rank);
  }
  for (auto &[op, messages] : merged)
    for (auto &[message, who] : messages)
      reports.push_back(
          {op->getLoc(), message + " on " + describeRanks(who), {}});
}
