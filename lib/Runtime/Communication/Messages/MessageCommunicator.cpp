//===- MessageCommunicator.cpp - Collectives made of messages -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MessageCommunicator.h"

#include "CollectiveFingerprints.h"
#include "Program/RankGroups.h"

#include <algorithm>
#include <cstring>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

/// How long the thread sleeps between two looks at messages that do not go on,
/// at first and at most.
static constexpr std::chrono::microseconds kShortestSleep(5);
static constexpr std::chrono::microseconds kLongestSleep(200);
/// Between two looks at who has ended, and at who has waited for too long.
static constexpr std::chrono::milliseconds kLookPause(20);

/// A call may take as long on a busy machine, whatever ranks are to wait.
static constexpr std::chrono::seconds kShortestCallLimit(2);

static std::chrono::nanoseconds getTimeout(double timeoutSeconds) {
  // Thirty years are as good as forever and do not overflow the clock.
  std::chrono::duration<double> seconds(std::min(timeoutSeconds, 1e9));
  return std::chrono::duration_cast<std::chrono::nanoseconds>(seconds);
}

MessageCommunicator::MessageCommunicator(MessageTransport &transport,
                                         double timeoutSeconds)
    : timeout(getTimeout(timeoutSeconds)),
      transport(transport,
                std::max<std::chrono::nanoseconds>(timeout, kShortestCallLimit),
                [this] { return describeOpen(); }) {}

MessageCommunicator::~MessageCommunicator() {
  {
    Lock lock(mutex);
    isStopping = true;
    hasWork.notify_all();
  }
  if (thread.joinable())
    thread.join();
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

void MessageCommunicator::fail(Failure reason) {
  if (!failure)
    failure = std::move(reason);
  hasWork.notify_all();
  hasProgress.notify_all();
}

Failure MessageCommunicator::poll() {
  Lock lock(mutex);
  return failure;
}

void MessageCommunicator::abort(const std::string &reason) {
  Lock lock(mutex);
  fail(Failure(reason, RG_ERROR_ABORTED));
}

/// Adds what this rank does outside of collectives to what has gone wrong.
Failure MessageCommunicator::explainAt(const char *when,
                                       const Failure &problem) const {
  if (problem.getCode() == RG_ERROR_MISMATCH)
    return problem;
  return Failure("rank " + std::to_string(transport.getRank()) +
                     " cannot exchange what ranks tell each other " + when +
                     ": " + problem.getMessage(),
                 problem.getCode() ? problem.getCode() : RG_ERROR_ABORTED);
}

/// "'all_reduce at a:7' (collective 3 of group [0, 1])".
std::string MessageCommunicator::describe(const Exchange &exchange) const {
  const char *name =
      program->collectives[exchange.instruction->index].collective.name;
  return (name && *name ? "'" + std::string(name) + "'"
                        : std::string("an unnamed collective")) +
         " (collective " + std::to_string(exchange.sequence) + " of group " +
         formatList(exchange.group->members) + ")";
}

std::string MessageCommunicator::describeOpen() {
  Lock lock(mutex, std::try_to_lock);
  std::string text;
  // It is held, otherwise, by ranks that talk between steps.
  if (lock)
    for (const Group &group : groups) {
      auto first =
          std::find_if(group.queue.begin(), group.queue.end(),
                       [](const auto &exchange) { return !exchange->isDone; });
      if (first != group.queue.end())
        text += (text.empty() ? "it is at " : ", ") + describe(**first);
    }
  return (text.empty() ? "it is between steps" : text) +
         processes.describeStopped();
}

//===----------------------------------------------------------------------===//
// Set-up
//===----------------------------------------------------------------------===//

Failure MessageCommunicator::planCollectives() {
  for (int64_t i = 0; i < program->axes_count; ++i) {
    Group &group = groups.emplace_back();
    group.axes = int32_t(i);
    group.members = getGroup(program->axes[i], transport.getRank());
    if (group.members.back() >= transport.getNumRanks())
      return Failure("the program is for more than " +
                         std::to_string(transport.getNumRanks()) + " ranks",
                     RG_ERROR_ARGUMENT);
  }
  for (int64_t i = 0; i < program->collective_count; ++i) {
    const rg_collective_entry &entry = program->collectives[i];
    Group &group = groups[size_t(entry.axes)];
    PlanOptions options;
    options.ranks = int64_t(group.members.size());
    options.position =
        getPosition(program->axes[entry.axes], transport.getRank());
    Collective collective;
    std::string problem = readCollective(entry, options.ranks, collective);
    if (!problem.empty())
      return Failure("collective " + std::to_string(i) + ": " + problem,
                     RG_ERROR_ARGUMENT);
    plans.push_back(planCollective(collective, options));
    group.staging.resize(
        std::max(group.staging.size(), size_t(plans.back().stagingBytes)));
  }
  return Failure();
}

namespace {
/// What ranks tell each other first.
struct Greeting {
  uint64_t axes, order, machine;
  int64_t process;
};
} // namespace

/// Ranks that have compiled different things find out before they exchange
/// anything else.
Failure MessageCommunicator::meetPeers() {
  CollectiveFingerprints own = getCollectiveFingerprints(*program);
  ProcessIdentity identity = ProcessIdentity::getOwn();
  Greeting mine = {own.axes, own.order, identity.machine, identity.process};
  std::vector<Greeting> theirs(size_t(transport.getNumRanks()), mine);
  PeerExchange exchange(transport, processes, timeout);
  for (int32_t peer = 0; peer < transport.getNumRanks(); ++peer) {
    if (peer == transport.getRank())
      continue;
    if (Failure problem = exchange.send(peer, &mine, sizeof(mine)))
      return problem;
    if (Failure problem =
            exchange.receive(peer, &theirs[size_t(peer)], sizeof(Greeting)))
      return problem;
  }
  if (Failure problem = exchange.complete())
    return problem;
  for (size_t peer = 0; peer < theirs.size(); ++peer) {
    const Greeting &other = theirs[peer];
    processes.watch(int32_t(peer), {other.machine, other.process});
  }
  for (size_t peer = 0; peer < theirs.size(); ++peer) {
    std::string who = "mismatch: ranks " + std::to_string(transport.getRank()) +
                      " and " + std::to_string(peer) + " have programs ";
    if (theirs[peer].axes != mine.axes)
      return Failure(who + "for other meshes", RG_ERROR_MISMATCH);
    if (theirs[peer].order != mine.order)
      return explainMismatch(int32_t(peer));
  }
  return Failure();
}

/// Compares communicator by communicator with a rank that does the same.
Failure MessageCommunicator::explainMismatch(int32_t peer) {
  std::vector<uint64_t> mine =
      getCollectiveFingerprints(*program).communicators;
  std::vector<uint64_t> theirs(mine);
  auto bytes = int64_t(mine.size() * sizeof(uint64_t));
  PeerExchange exchange(transport, processes, timeout);
  Failure problem = exchange.send(peer, mine.data(), bytes);
  if (!problem)
    problem = exchange.receive(peer, theirs.data(), bytes);
  if (!problem)
    problem = exchange.complete();
  std::string text = "mismatch: ranks " + std::to_string(transport.getRank()) +
                     " and " + std::to_string(peer) +
                     " have programs with different collectives";
  // What is known says enough.
  if (problem)
    return Failure(text, RG_ERROR_MISMATCH);
  for (size_t i = 0; i < mine.size(); ++i)
    if (mine[i] != theirs[i])
      return Failure(text + " of group " + formatList(groups[i].members),
                     RG_ERROR_MISMATCH);
  return Failure(text + ": those of different groups start in another order",
                 RG_ERROR_MISMATCH);
}

Failure MessageCommunicator::prepare(const rg_program &tables,
                                     bool /*inGraphs*/) {
  program = &tables;
  Failure problem = planCollectives();
  if (!problem)
    if (Failure unmet = meetPeers())
      problem = explainAt("before the first step", unmet);
  if (!problem) {
    thread = std::thread([this] { work(); });
    return problem;
  }
  // Ranks that have other programs find out for themselves.
  if (problem.getCode() != RG_ERROR_MISMATCH)
    transport.abort();
  Lock lock(mutex);
  isStopped = true;
  fail(problem.getCode() ? problem
                         : Failure(problem.getMessage(), RG_ERROR_ABORTED));
  return failure;
}

//===----------------------------------------------------------------------===//
// Calls of the rank
//===----------------------------------------------------------------------===//

Result<PendingCollective *> MessageCommunicator::start(int32_t /*rank*/,
                                                       int64_t number,
                                                       void *const *buffers) {
  auto exchange = std::make_shared<Exchange>();
  exchange->instruction = program->instructions + number;
  exchange->buffers.assign(buffers,
                           buffers + exchange->instruction->slice_count);
  Group &group =
      groups[size_t(program->collectives[exchange->instruction->index].axes)];
  exchange->group = &group;
  Lock lock(mutex);
  if (failure)
    return failure;
  exchange->sequence = group.numStarted++;
  group.queue.push_back(exchange);
  hasWork.notify_all();
  // The queue owns it until the rank has waited for it.
  return static_cast<PendingCollective *>(exchange.get());
}

Failure MessageCommunicator::wait(PendingCollective *pending,
                                  rg_collective_times &times) {
  auto *exchange = static_cast<Exchange *>(pending);
  Group &group = *exchange->group;
  Lock lock(mutex);
  exchange->deadline = Clock::now() + timeout;
  // After a failure, too: messages may use the buffers until they are ended.
  hasProgress.wait(lock, [&] { return exchange->isDone || isStopped; });
  auto getSeconds = [](Clock::time_point time) {
    return std::chrono::duration<double>(time.time_since_epoch()).count();
  };
  if (!failure)
    times = {getSeconds(exchange->begin), getSeconds(exchange->end)};
  auto found =
      std::find_if(group.queue.begin(), group.queue.end(),
                   [&](const auto &owned) { return owned.get() == exchange; });
  group.queue.erase(found);
  return failure;
}

Failure MessageCommunicator::gatherNow(const void *data, int64_t bytes,
                                       int32_t to, void *const *parts) {
  int32_t rank = transport.getRank();
  bool receives = to < 0 || to == rank;
  std::vector<int64_t> sizes(size_t(transport.getNumRanks()), bytes);
  PeerExchange exchange(transport, processes, timeout);
  // Sizes first: the memory for what comes is for one size only.
  for (bool isSize : {true, false}) {
    for (int32_t peer = 0; peer < transport.getNumRanks(); ++peer) {
      Failure problem;
      if (peer != rank && (to < 0 || to == peer))
        problem = isSize ? exchange.send(peer, &bytes, sizeof(bytes))
                         : exchange.send(peer, data, bytes);
      if (peer != rank && receives && !problem)
        problem =
            isSize
                ? exchange.receive(peer, &sizes[size_t(peer)], sizeof(int64_t))
                : exchange.receive(peer, parts ? parts[peer] : nullptr, bytes);
      if (problem)
        return problem;
    }
    if (Failure problem = exchange.complete())
      return problem;
    for (size_t peer = 0; peer < sizes.size(); ++peer)
      if (sizes[peer] != bytes)
        return Failure("mismatch: rank " + std::to_string(rank) + " expects " +
                           std::to_string(bytes) + " bytes of rank " +
                           std::to_string(peer) + ", which sends " +
                           std::to_string(sizes[peer]),
                       RG_ERROR_MISMATCH);
  }
  if (receives && bytes > 0)
    std::memcpy(parts[rank], data, size_t(bytes));
  return Failure();
}

Failure MessageCommunicator::gather(const void *data, int64_t bytes, int32_t to,
                                    void *const *parts) {
  Lock lock(mutex);
  auto isIdle = [&] {
    for (const Group &group : groups)
      for (const std::shared_ptr<Exchange> &exchange : group.queue)
        if (!exchange->isDone)
          return false;
    return true;
  };
  // The thread, which makes no call while it is idle, needs the mutex to go on.
  if (!hasProgress.wait_for(lock, timeout, [&] { return failure || isIdle(); }))
    fail(Failure("timeout: rank " + std::to_string(transport.getRank()) +
                     " has not completed its collectives" +
                     processes.describeStopped(),
                 RG_ERROR_TIMEOUT));
  if (!failure)
    if (Failure problem = gatherNow(data, bytes, to, parts))
      fail(explainAt("between steps", problem));
  return failure;
}

//===----------------------------------------------------------------------===//
// The thread
//===----------------------------------------------------------------------===//

/// Adds where this rank is to what has gone wrong.
Failure MessageCommunicator::explain(const Exchange &exchange,
                                     const Failure &problem) const {
  return Failure("rank " + std::to_string(transport.getRank()) +
                     " cannot complete " + describe(exchange) + ": " +
                     problem.getMessage(),
                 RG_ERROR_ABORTED);
}

Failure MessageCommunicator::lookForCause(EndedPeers &ended) {
  Clock::time_point now = Clock::now();
  for (const Group &group : groups) {
    auto first =
        std::find_if(group.queue.begin(), group.queue.end(),
                     [](const auto &exchange) { return !exchange->isDone; });
    if (first == group.queue.end())
      continue;
    if (Failure problem = ended.look(now, (*first)->open))
      return explain(**first, problem);
    for (auto item = first; item != group.queue.end(); ++item)
      if (now > (*item)->deadline)
        return Failure("timeout: rank " + std::to_string(transport.getRank()) +
                           " waited for too long for " + describe(**item) +
                           ((*first)->open.empty()
                                ? ""
                                : ", with messages open with " +
                                      describePeers((*first)->open)) +
                           processes.describeStopped(),
                       RG_ERROR_TIMEOUT);
  }
  return Failure();
}

Failure MessageCommunicator::post(const PlanPhase &phase, Exchange &exchange,
                                  const HostPlanMemory &memory) {
  const Group &group = *exchange.group;
  for (const PlanMessage &item : phase.receives) {
    int32_t peer = group.members[size_t(item.peer)];
    Result<uint64_t> number = transport.receive(
        peer, group.axes, memory.get(item.address), item.bytes);
    if (!number)
      return number.getFailure();
    exchange.open.push_back({peer, *number});
  }
  for (const PlanMessage &item : phase.sends) {
    int32_t peer = group.members[size_t(item.peer)];
    Result<uint64_t> number =
        transport.send(peer, group.axes, memory.get(item.address), item.bytes);
    if (!number)
      return number.getFailure();
    exchange.open.push_back({peer, *number});
  }
  return Failure();
}

/// Goes on with a collective as far as messages allow; true if it is done.
Result<bool> MessageCommunicator::advance(Exchange &exchange) {
  const CollectivePlan &plan = plans[size_t(exchange.instruction->index)];
  Group &group = *exchange.group;
  HostPlanMemory memory = {exchange.buffers.data(), group.staging.data()};
  for (; exchange.phase < plan.phases.size(); ++exchange.phase) {
    const PlanPhase &phase = plan.phases[exchange.phase];
    if (!exchange.isPosted) {
      if (exchange.phase == 0)
        exchange.begin = Clock::now();
      runPhase(phase, int64_t(group.members.size()), memory);
      if (Failure problem = post(phase, exchange, memory))
        return problem;
      exchange.isPosted = true;
    }
    Result<bool> done = testMessages(transport, exchange.open);
    if (!done || !*done)
      return done;
    exchange.isPosted = false;
  }
  exchange.end = Clock::now();
  return true;
}

void MessageCommunicator::work() {
  std::chrono::microseconds sleep = kShortestSleep;
  std::vector<std::shared_ptr<Exchange>> current;
  EndedPeers ended(processes);
  Clock::time_point nextLook = Clock::now();
  Lock lock(mutex);
  while (!failure && !isStopping) {
    current.clear();
    for (Group &group : groups) {
      auto first =
          std::find_if(group.queue.begin(), group.queue.end(),
                       [](const auto &exchange) { return !exchange->isDone; });
      if (first != group.queue.end())
        current.push_back(*first);
    }
    if (current.empty()) {
      hasWork.wait(lock);
      sleep = kShortestSleep;
      continue;
    }
    lock.unlock();
    size_t numDone = 0;
    Failure problem;
    for (std::shared_ptr<Exchange> &exchange : current) {
      Result<bool> done = advance(*exchange);
      if (!done) {
        problem = explain(*exchange, done.getFailure());
        break;
      }
      if (*done)
        std::swap(exchange, current[numDone++]);
    }
    if (numDone == 0 && !problem) {
      std::this_thread::sleep_for(sleep);
      sleep = std::min(sleep * 2, kLongestSleep);
    } else {
      sleep = kShortestSleep;
    }
    lock.lock();
    for (size_t i = 0; i < numDone; ++i)
      current[i]->isDone = true;
    if (numDone)
      hasProgress.notify_all();
    if (Clock::now() >= nextLook && !problem) {
      nextLook = Clock::now() + kLookPause;
      problem = lookForCause(ended);
    }
    if (problem)
      fail(std::move(problem));
  }
  // Who ends when all is done leaves it to the transport to end well.
  bool isIdle = !failure;
  for (const Group &group : groups)
    for (const std::shared_ptr<Exchange> &exchange : group.queue)
      isIdle = isIdle && exchange->isDone;
  lock.unlock();
  if (!isIdle)
    transport.abort();
  lock.lock();
  isStopped = true;
  hasProgress.notify_all();
}
