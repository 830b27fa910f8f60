//===- World.cpp - The ranks of one process -------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "World.h"

#include "DataMovement.h"

#include <algorithm>

using namespace regather::runtime;

using Lock = std::unique_lock<std::mutex>;

//===----------------------------------------------------------------------===//
// Creation and end
//===----------------------------------------------------------------------===//

World::World(int32_t numRanks, double timeoutSeconds, InjectedLink link)
    : ranks(numRanks), order(numRanks), link(link) {
  // Thirty years are as good as forever and do not overflow the clock.
  std::chrono::duration<double> seconds(std::min(timeoutSeconds, 1e9));
  timeout = std::chrono::duration_cast<std::chrono::nanoseconds>(seconds);
}

World::~World() {
  Lock lock(mutex);
  fail(RG_ERROR_ABORTED, "world was destroyed");
  nobodyWaits.wait(lock, [&] { return numWaiting == 0; });
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

const char *World::getError() const {
  Lock lock(mutex);
  return error.c_str();
}

rg_status World::noteArgumentError(const std::string &message) {
  if (error.empty())
    error = message;
  return RG_ERROR_ARGUMENT;
}

rg_status World::rejectArgument(const std::string &message) {
  Lock lock(mutex);
  return noteArgumentError(message);
}

/// Records the first failure and wakes everybody; returns the status that holds
/// from now on.
rg_status World::fail(rg_status newStatus, const std::string &message) {
  if (status != RG_OK)
    return status;
  status = newStatus;
  // An argument error that came first is the likely cause, and it stays.
  if (error.empty())
    error = message;
  for (Rank &rank : ranks)
    rank.wake.notify_all();
  return newStatus;
}

void World::abort(const char *message) {
  Lock lock(mutex);
  fail(RG_ERROR_ABORTED, message && *message ? message : "world was aborted");
}

//===----------------------------------------------------------------------===//
// Progress
//===----------------------------------------------------------------------===//

bool World::isStuck(const Rank &rank) const {
  return rank.waitsFor && rank.waitsFor->rendezvous->isOpen();
}

/// Whether all members that the stuck `rank` waits for satisfy `predicate`.
template <typename Predicate>
bool World::allMissing(const Rank &rank, Predicate predicate) const {
  const Rendezvous &rendezvous = *rank.waitsFor->rendezvous;
  const std::vector<int32_t> &members = rendezvous.group->members;
  for (size_t position = 0; position < members.size(); ++position)
    if (!rendezvous.arrived[position] && !predicate(members[position]))
      return false;
  return true;
}

/// Fails if some rank can never go on:
///
///   mayStart = ranks that run
///   repeat: add unfinished stuck ranks that wait for ranks in mayStart only
///   deadlock if a stuck rank waits for a rank outside of mayStart
///
/// This finds cycles among some ranks while others run, too.
void World::checkProgress() {
  std::vector<bool> mayStart(ranks.size());
  for (size_t index = 0; index < ranks.size(); ++index)
    mayStart[index] = !ranks[index].finished && !isStuck(ranks[index]);
  auto isFreed = [&](const Rank &rank) {
    return allMissing(rank, [&](int32_t other) { return mayStart[other]; });
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t index = 0; index < ranks.size(); ++index) {
      if (mayStart[index] || ranks[index].finished || !isFreed(ranks[index]))
        continue;
      mayStart[index] = changed = true;
    }
  }
  for (const Rank &rank : ranks)
    if (isStuck(rank) && !isFreed(rank)) {
      fail(RG_ERROR_DEADLOCK, "deadlock: ranks wait for collectives that can "
                              "never complete" +
                                  describeRanks());
      return;
    }
}

/// As `checkProgress`, for the moment at which `rank` alone became stuck: as
/// long as it waits for ranks that run, nothing can be wrong. Linear in the
/// group then.
void World::checkProgressOf(const Rank &rank) {
  bool allRun = allMissing(rank, [&](int32_t other) {
    return !ranks[other].finished && !isStuck(ranks[other]);
  });
  if (!allRun)
    checkProgress();
}

rg_status World::checkRank(int32_t rank) {
  if (rank >= 0 && rank < getNumRanks())
    return RG_OK;
  return noteArgumentError("rank must be in 0.." +
                           std::to_string(getNumRanks() - 1) + ", got " +
                           std::to_string(rank));
}

rg_status World::finishRank(int32_t rank) {
  Lock lock(mutex);
  if (checkRank(rank) != RG_OK)
    return RG_ERROR_ARGUMENT;
  ranks[rank].finished = true;
  checkProgress();
  return RG_OK;
}

rg_status World::resumeRank(int32_t rank) {
  Lock lock(mutex);
  if (checkRank(rank) != RG_OK)
    return RG_ERROR_ARGUMENT;
  ranks[rank].finished = false;
  return RG_OK;
}

//===----------------------------------------------------------------------===//
// Communicators
//===----------------------------------------------------------------------===//

rg_status World::getView(int32_t rank, const int32_t *members, int32_t count,
                         GroupView *&view) {
  if (count < 1)
    return rejectArgument("group must have at least 1 member, got " +
                          std::to_string(count));
  std::vector<int32_t> list(members, members + count);
  auto found = std::find(list.begin(), list.end(), rank);
  std::string group = "group " + formatList(list);
  if (found == list.end())
    return rejectArgument("rank " + std::to_string(rank) + " is no member of " +
                          group);
  std::vector<bool> seen(ranks.size());
  for (int32_t member : list) {
    if (member < 0 || member >= getNumRanks())
      return rejectArgument(group + ": members must be in 0.." +
                            std::to_string(getNumRanks() - 1) + ", got " +
                            std::to_string(member));
    if (seen[member])
      return rejectArgument(group + " has member " + std::to_string(member) +
                            " twice");
    seen[member] = true;
  }

  Lock lock(mutex);
  std::unique_ptr<Group> &entry = groups[list];
  if (!entry) {
    entry = std::make_unique<Group>();
    entry->members = list;
    for (int32_t position = 0; position < count; ++position)
      entry->views.push_back({this, entry.get(), list[position], position, 0});
  }
  view = &entry->views[found - list.begin()];
  return RG_OK;
}

//===----------------------------------------------------------------------===//
// Starting
//===----------------------------------------------------------------------===//

/// Compares the place of this start with what other members have started on all
/// groups in common. Linear in the group.
rg_status World::checkOrder(const GroupView &view, const char *name) {
  StartRecord record = {view.group, view.numStarted, name};
  for (int32_t peer : view.group->members) {
    if (peer == view.rank)
      continue;
    if (auto expected = order.start(view.rank, peer, record))
      return fail(RG_ERROR_MISMATCH,
                  describeOrder(view, name, peer, *expected));
  }
  return RG_OK;
}

/// The rendezvous that the view's next collective belongs to. The first
/// rank to arrive says what the collective is.
Rendezvous &World::arrive(GroupView &view, const Collective &collective) {
  Group &group = *view.group;
  size_t index = size_t(view.numStarted - group.firstOpen);
  if (index == group.open.size()) {
    auto rendezvous = std::make_shared<Rendezvous>();
    rendezvous->world = this;
    rendezvous->group = &group;
    rendezvous->sequence = view.numStarted;
    rendezvous->collective = collective;
    rendezvous->firstPosition = view.position;
    rendezvous->arrived.resize(group.members.size());
    rendezvous->names.resize(group.members.size());
    rendezvous->buffers.resize(group.members.size());
    group.open.push_back(std::move(rendezvous));
  }
  return *group.open[index];
}

/// Hands the oldest open collective of the group, which no member is missing
/// from any more, to the workers.
void World::submit(Group &group, std::shared_ptr<Rendezvous> rendezvous) {
  auto numMembers = int64_t(group.members.size());
  rendezvous->begin = InjectedLink::Clock::now();
  if (numMembers > 1)
    rendezvous->arrival = group.linkFree =
        link.getArrival(rendezvous->begin, group.linkFree,
                        getReceivedBytes(rendezvous->collective, numMembers));
  pool.submit(std::move(rendezvous));
}

rg_status World::start(GroupView &view, const rg_collective &from,
                       Future *&future) {
  Group &group = *view.group;
  const char *name = from.name ? from.name : "";
  Collective collective;
  std::vector<Buffers> buffers;
  std::string problem =
      readCollective(from, int64_t(group.members.size()), collective, buffers);
  Lock lock(mutex);
  if (status != RG_OK)
    return status;
  std::string who = "rank " + std::to_string(view.rank);
  if (!problem.empty())
    return noteArgumentError(std::string(name) + (*name ? ": " : "") + problem +
                             " (" + who + ")");
  if (ranks[view.rank].finished)
    return noteArgumentError(who + " starts a collective after it finished");

  Rendezvous &rendezvous = arrive(view, collective);
  std::string difference =
      describeDifference(rendezvous.collective, collective);
  if (!difference.empty())
    return fail(RG_ERROR_MISMATCH,
                describeMismatch(rendezvous, view.rank, name, difference));
  if (checkOrder(view, name) != RG_OK)
    return status;

  auto owned = std::make_unique<Future>(
      Future{{},
             this,
             view.rank,
             view.position,
             group.open[view.numStarted - group.firstOpen]});
  future = owned.get();
  futures.emplace(future, std::move(owned));
  ++view.numStarted;
  ++rendezvous.numArrived;
  rendezvous.arrived[view.position] = true;
  rendezvous.names[view.position] = name;
  rendezvous.buffers[view.position] = std::move(buffers);
  if (!rendezvous.isOpen()) {
    std::shared_ptr<Rendezvous> complete = std::move(group.open.front());
    group.open.pop_front();
    ++group.firstOpen;
    submit(group, std::move(complete));
  }
  return RG_OK;
}

//===----------------------------------------------------------------------===//
// Data movement, on workers
//===----------------------------------------------------------------------===//

void Rendezvous::run(int64_t part) {
  if (world->status == RG_OK)
    runPart(collective, buffers, part);
}

void Rendezvous::finish() {
  Lock lock(world->mutex);
  finished = true;
  end = InjectedLink::Clock::now();
  for (int32_t member : group->members) {
    Rank &rank = world->ranks[member];
    if (rank.waitsFor && rank.waitsFor->rendezvous.get() == this)
      rank.wake.notify_all();
  }
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

static double toSeconds(InjectedLink::Clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

rg_status World::wait(Future *future, rg_collective_times *times) {
  Lock lock(mutex);
  Rendezvous &rendezvous = *future->rendezvous;
  Rank &rank = ranks[future->rank];
  ++numWaiting;
  rank.waitsFor = future;
  if (status == RG_OK && rendezvous.isOpen())
    checkProgressOf(rank);

  auto deadline = std::chrono::steady_clock::now() + timeout;
  auto isOver = [&] { return rendezvous.finished || status != RG_OK; };
  // Once all members have arrived only workers are left to wait for, and these
  // always end.
  while (rendezvous.isOpen() && !isOver()) {
    if (rank.wake.wait_until(lock, deadline) == std::cv_status::timeout &&
        rendezvous.isOpen() && !isOver())
      fail(RG_ERROR_TIMEOUT, "timeout: rank " + std::to_string(future->rank) +
                                 " waited for too long" + describeRanks());
  }
  // After a failure, too: a worker may be at the buffers right now.
  rank.wake.wait(lock, [&] {
    return rendezvous.finished || (rendezvous.isOpen() && status != RG_OK);
  });
  if (InjectedLink::Clock::now() < rendezvous.arrival)
    rank.wake.wait_until(lock, rendezvous.arrival,
                         [&] { return status != RG_OK; });

  rg_status result = status;
  if (times && result == RG_OK)
    *times = {toSeconds(rendezvous.begin),
              toSeconds(std::max(rendezvous.end, rendezvous.arrival))};
  rank.waitsFor = nullptr;
  futures.erase(future);
  if (--numWaiting == 0)
    nobodyWaits.notify_all();
  return result;
}

rg_status World::test(const Future &future, bool &done) const {
  Lock lock(mutex);
  const Rendezvous &rendezvous = *future.rendezvous;
  done = status == RG_OK && rendezvous.finished &&
         InjectedLink::Clock::now() >= rendezvous.arrival;
  return status;
}
