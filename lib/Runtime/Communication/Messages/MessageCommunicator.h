//===- MessageCommunicator.h - Collectives made of messages -----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_COMMUNICATION_MESSAGES_MESSAGECOMMUNICATOR_H
#define REGATHER_LIB_RUNTIME_COMMUNICATION_MESSAGES_MESSAGECOMMUNICATOR_H

#include "Communication/Communicator.h"
#include "GuardedTransport.h"
#include "HostPlanRunner.h"
#include "PeerExchange.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace regather::runtime {

/// The collectives of one rank, over a transport that only moves bytes. Each
/// collective follows its plan (CollectivePlan.h): what ranks add, they add
/// themselves, in the order of the group.
///
/// A thread of its own runs the collectives of each group one after the other,
/// and those of different groups at once:
///
///   for each group: run the local part of the next phase; send and receive
///   when all messages of the phase are done: the next phase, or done
class MessageCommunicator : public HostCommunicator {
public:
  MessageCommunicator(MessageTransport &transport, double timeoutSeconds);
  ~MessageCommunicator() override;

  /// Fails with RG_ERROR_MISMATCH, too, if another rank has prepared another
  /// program.
  Failure prepare(const rg_program &program, bool inGraphs) override;
  void beginStep() override {}
  void endStep() override {}
  Failure poll() override;
  void abort(const std::string &reason) override;

  Result<PendingCollective *> start(int32_t rank, int64_t instruction,
                                    void *const *buffers) override;
  Failure wait(PendingCollective *pending, rg_collective_times &times) override;
  /// Ranks of other processes are not told.
  void finishRank(int32_t /*rank*/) override {}

  /// Sends `bytes` bytes of every rank to the rank `to`, or to all if it is
  /// negative, which have `parts[i]` for those of rank i. All ranks call it in
  /// the same order, between steps, with as many bytes. Without any, all wait
  /// for each other.
  Failure gather(const void *data, int64_t bytes, int32_t to,
                 void *const *parts);

private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;

  struct Group;
  /// A collective on its way.
  struct Exchange : PendingCollective {
    Group *group = nullptr;
    const rg_instruction *instruction = nullptr;
    int64_t sequence = 0;
    std::vector<void *> buffers;
    /// These are the thread's alone.
    size_t phase = 0;
    bool isPosted = false;
    std::vector<OpenMessage> open;
    Clock::time_point begin, end;
    /// When its rank will have waited for too long.
    Clock::time_point deadline = Clock::time_point::max();
    bool isDone = false;
  };
  /// The rank's group along some axes.
  struct Group {
    int32_t axes = 0;
    std::vector<int32_t> members;
    int64_t numStarted = 0;
    /// In the order in which they were started. The thread works on the first.
    std::deque<std::shared_ptr<Exchange>> queue;
    std::vector<char> staging;
  };

  Failure planCollectives();
  Failure meetPeers();
  Failure explainMismatch(int32_t peer);
  Failure gatherNow(const void *data, int64_t bytes, int32_t to,
                    void *const *parts);
  void work();
  Result<bool> advance(Exchange &exchange);
  Failure post(const PlanPhase &phase, Exchange &exchange,
               const HostPlanMemory &memory);
  Failure explainAt(const char *when, const Failure &problem) const;
  Failure explain(const Exchange &exchange, const Failure &problem) const;
  /// Why a collective that does not go on never will. Expects the mutex.
  Failure lookForCause(EndedPeers &ended);
  std::string describe(const Exchange &exchange) const;
  /// The collectives that are on their way, or that there are none. Any thread
  /// may call it, and it does not wait.
  std::string describeOpen();
  /// Expects the mutex to be held.
  void fail(Failure reason);

  const std::chrono::nanoseconds timeout;
  const rg_program *program = nullptr;
  /// By number of the collective.
  std::vector<CollectivePlan> plans;
  /// By axes; they do not move.
  std::deque<Group> groups;
  PeerProcesses processes;

  /// Guards queues, `isDone` of exchanges, and what follows.
  std::mutex mutex;
  std::condition_variable hasWork, hasProgress;
  Failure failure;
  bool isStopping = false;
  bool isStopped = false;
  /// Ends before what it describes does.
  GuardedTransport transport;
  std::thread thread;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_COMMUNICATION_MESSAGES_MESSAGECOMMUNICATOR_H
