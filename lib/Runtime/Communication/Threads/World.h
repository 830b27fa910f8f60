//===- World.h - The ranks of one process -----------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state that ranks and workers share. One mutex guards all of it except the
// worker queue; data is moved without holding it.
//
//   start:  ranks append themselves to the k-th rendezvous of a group; the last
//           one to arrive submits it to the workers.
//   wait:   a rank sleeps on its own condition variable until the rendezvous is
//           finished, and the injected link has carried it, the world failed,
//           or its time is up.
//   fail:   the first failure is kept for ever. Jobs that did not begin are
//           skipped; a wait still returns only when nobody touches its buffers.
//
// A rank is stuck if it waits for a rendezvous that lacks a member, and it is
// deadlocked if such a member will never come: because it is finished, or stuck
// and deadlocked itself. This can become true only when a rank begins to wait
// and when a rank finishes, and is checked at these two moments. A rendezvous
// that lacks no member has been submitted, so its ranks are not stuck.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_COMMUNICATION_THREADS_WORLD_H
#define REGATHER_LIB_RUNTIME_COMMUNICATION_THREADS_WORLD_H

#include "Communication/Collective.h"
#include "Communication/Communicator.h"
#include "InjectedLink.h"
#include "SharedOrder.h"
#include "WorkerPool.h"

#include <atomic>
#include <chrono>
#include <map>
#include <unordered_map>

namespace regather::runtime {

class World;
struct Rendezvous;

/// One rank's view of a group.
struct GroupView {
  World *world;
  Group *group;
  int32_t rank;
  int32_t position;
  /// Number of collectives that the rank has started on the group.
  int64_t numStarted;
};

/// Ranks in group order.
struct Group {
  std::vector<int32_t> members;
  /// One per member. Never grows, so pointers into it stay valid.
  std::vector<GroupView> views;
  /// Collectives that lack a member, by ascending sequence number; the first
  /// one has the number `firstOpen`. Members arrive in order, so they complete
  /// in order, too.
  std::deque<std::shared_ptr<Rendezvous>> open;
  int64_t firstOpen = 0;
  /// When the injected link has carried all collectives so far.
  InjectedLink::Clock::time_point linkFree;
};

/// The k-th collective of a group.
struct Rendezvous : Job {
  World *world = nullptr;
  Group *group = nullptr;
  int64_t sequence = 0;
  Collective collective;
  int64_t firstPosition = 0; ///< who described `collective`
  int64_t numArrived = 0;
  bool finished = false;
  /// Before it, a wait does not return; known when no member is missing.
  InjectedLink::Clock::time_point arrival;
  /// When no member was missing any more, and when outputs had been written.
  InjectedLink::Clock::time_point begin, end;
  /// By position.
  std::vector<bool> arrived;
  std::vector<const char *> names;
  std::vector<std::vector<Buffers>> buffers;

  bool isOpen() const { return numArrived < int64_t(group->members.size()); }
  int64_t getNumParts() const override {
    return int64_t(group->members.size());
  }
  void run(int64_t part) override;
  void finish() override;
};

/// What a rank holds of a collective it has started.
struct Future : PendingCollective {
  World *world;
  int32_t rank;
  int32_t position;
  std::shared_ptr<Rendezvous> rendezvous;
};

struct Rank {
  bool finished = false;
  /// The future it is blocked on.
  Future *waitsFor = nullptr;
  std::condition_variable wake;
};

class World {
public:
  World(int32_t ranks, double timeoutSeconds, InjectedLink link);
  ~World();

  /// Starts the workers; false if there are none.
  bool startWorkers(int64_t count) { return pool.start(count) > 0; }

  int32_t getNumRanks() const { return int32_t(ranks.size()); }
  const char *getError() const;
  /// RG_OK until the first failure.
  rg_status getStatus() const { return status; }
  void abort(const char *message);
  rg_status finishRank(int32_t rank);
  rg_status resumeRank(int32_t rank);
  rg_status getView(int32_t rank, const int32_t *members, int32_t count,
                    GroupView *&view);
  rg_status start(GroupView &view, const rg_collective &collective,
                  Future *&future);
  /// Sets `flight` to when the data was moved, unless it is null.
  rg_status wait(Future *future, rg_collective_times *times);
  rg_status test(const Future &future, bool &done) const;

  /// Keeps the message of a wrong call, which changes nothing else.
  rg_status rejectArgument(const std::string &message);

private:
  friend struct Rendezvous;

  /// These expect the mutex to be held.
  rg_status checkRank(int32_t rank);
  rg_status noteArgumentError(const std::string &message);
  rg_status fail(rg_status newStatus, const std::string &message);
  rg_status checkOrder(const GroupView &view, const char *name);
  void submit(Group &group, std::shared_ptr<Rendezvous> rendezvous);
  Rendezvous &arrive(GroupView &view, const Collective &collective);
  bool isStuck(const Rank &rank) const;
  template <typename Predicate>
  bool allMissing(const Rank &rank, Predicate predicate) const;
  void checkProgress();
  void checkProgressOf(const Rank &rank);

  /// See Report.cpp.
  std::string describeGroup(const Group &group) const;
  std::string describeMismatch(const Rendezvous &rendezvous, int32_t rank,
                               const char *name,
                               const std::string &difference) const;
  std::string describeOrder(const GroupView &view, const char *name,
                            int32_t peer, const StartRecord &expected) const;
  std::string describeRanks() const;

  mutable std::mutex mutex;
  std::deque<Rank> ranks;
  std::map<std::vector<int32_t>, std::unique_ptr<Group>> groups;
  std::unordered_map<Future *, std::unique_ptr<Future>> futures;
  SharedOrder order;
  std::chrono::nanoseconds timeout;
  InjectedLink link;

  /// RG_OK until the first failure. Written under the mutex; workers read it
  /// without, to skip work that nobody will see.
  std::atomic<rg_status> status{RG_OK};
  std::string error;

  /// Threads inside of `wait`, for whom the destructor waits.
  int64_t numWaiting = 0;
  std::condition_variable nobodyWaits;

  /// Last, so that it is joined before anything that jobs use goes away.
  WorkerPool pool;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_COMMUNICATION_THREADS_WORLD_H
