//===- MessageCommunicator.cpp - Collectives made of messages -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MessageCommunicator.h"

#include "Program/RankGroups.h"

#include <algorithm>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

/// How long the thread sleeps between two looks at messages that do not go on,
/// at first and at most.
static constexpr std::chrono::microseconds kShortestSleep(5);
static constexpr std::chrono::microseconds kLongestSleep(200);

MessageCommunicator::MessageCommunicator(MessageTransport &transport,
                                         double timeoutSeconds)
    : transport(transport) {
  // Thirty years are as good as forever and do not overflow the clock.
  std::chrono::duration<double> seconds(std::min(timeoutSeconds, 1e9));
  timeout = std::chrono::duration_cast<std::chrono::nanoseconds>(seconds);
}

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

/// "'all_reduce at a:7' (collective 3 of group [0, 1])".
std::string MessageCommunicator::describe(const Exchange &exchange) const {
  const char *name =
      program->collectives[exchange.instruction->index].collective.name;
  return (name && *name ? "'" + std::string(name) + "'"
                        : std::string("an unnamed collective")) +
         " (collective " + std::to_string(exchange.sequence) + " of group " +
         formatList(exchange.group->members) + ")";
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
/// FNV-1a over what has to be equal on all ranks.
class Fingerprint {
public:
  void add(int64_t number) {
    for (int shift = 0; shift < 64; shift += 8)
      value = (value ^ ((uint64_t(number) >> shift) & 0xff)) * 0x100000001b3;
  }
  void add(const int64_t *numbers, int64_t count) {
    add(count);
    for (int64_t i = 0; i < count; ++i)
      add(numbers[i]);
  }
  void add(const rg_collective &collective);
  uint64_t get() const { return value; }

private:
  uint64_t value = 0xcbf29ce484222325;
};
} // namespace

void Fingerprint::add(const rg_collective &collective) {
  for (int64_t field :
       {int64_t(collective.kind), int64_t(collective.reduction),
        int64_t(collective.accumulate), int64_t(collective.root),
        collective.dim, collective.split_dim, collective.concat_dim,
        collective.pair_count, collective.member_count,
        int64_t(collective.tag)})
    add(field);
  for (int64_t i = 0; i < collective.pair_count; ++i) {
    add(collective.sources[i]);
    add(collective.targets[i]);
  }
  for (int64_t i = 0; i < collective.member_count; ++i) {
    const rg_member &member = collective.members[i];
    add(member.dtype);
    add(member.input_shape, member.rank);
    add(member.output_shape, member.rank);
  }
}

static uint64_t getFingerprint(const rg_program &program) {
  Fingerprint fingerprint;
  for (int64_t i = 0; i < program.axes_count; ++i) {
    fingerprint.add(program.axes[i].sizes, program.axes[i].count);
    fingerprint.add(program.axes[i].strides, program.axes[i].count);
  }
  for (int64_t i = 0; i < program.collective_count; ++i) {
    fingerprint.add(program.collectives[i].axes);
    fingerprint.add(program.collectives[i].collective);
  }
  for (int64_t i = 0; i < program.instruction_count; ++i)
    if (program.instructions[i].opcode == RG_OP_COLLECTIVE)
      fingerprint.add(program.instructions[i].index);
  return fingerprint.get();
}

/// Waits for messages, before the thread runs.
Failure MessageCommunicator::complete(std::vector<Message> &messages) {
  Clock::time_point deadline = Clock::now() + timeout;
  for (;;) {
    Result<bool> done = isDone(messages);
    if (!done)
      return done.getFailure();
    if (*done)
      return Failure();
    if (Clock::now() > deadline)
      return Failure("timeout: rank " + std::to_string(transport.getRank()) +
                         " has heard nothing of rank " +
                         std::to_string(messages.front().peer),
                     RG_ERROR_TIMEOUT);
    std::this_thread::sleep_for(kLongestSleep);
  }
}

/// Ranks that have compiled different things find out before they exchange
/// anything else.
Failure MessageCommunicator::compareFingerprints() {
  uint64_t mine = getFingerprint(*program);
  std::vector<uint64_t> theirs(size_t(transport.getNumRanks()), mine);
  std::vector<Message> messages;
  for (int32_t peer = 0; peer < transport.getNumRanks(); ++peer) {
    if (peer == transport.getRank())
      continue;
    Result<uint64_t> sent = transport.send(peer, 0, &mine, sizeof(mine));
    if (!sent)
      return sent.getFailure();
    Result<uint64_t> received =
        transport.receive(peer, 0, &theirs[size_t(peer)], sizeof(uint64_t));
    if (!received)
      return received.getFailure();
    messages.push_back({peer, *sent});
    messages.push_back({peer, *received});
  }
  if (Failure problem = complete(messages))
    return problem;
  for (size_t peer = 0; peer < theirs.size(); ++peer)
    if (theirs[peer] != mine)
      return Failure("mismatch: ranks " + std::to_string(transport.getRank()) +
                         " and " + std::to_string(peer) +
                         " have programs with different collectives",
                     RG_ERROR_MISMATCH);
  return Failure();
}

Failure MessageCommunicator::prepare(const rg_program &tables,
                                     bool /*inGraphs*/) {
  program = &tables;
  Failure problem = planCollectives();
  if (!problem)
    problem = compareFingerprints();
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
  auto isOver = [&] { return exchange->isDone || failure; };
  if (!hasProgress.wait_for(lock, timeout, isOver))
    fail(Failure("timeout: rank " + std::to_string(transport.getRank()) +
                     " waited for too long for " + describe(*exchange),
                 RG_ERROR_TIMEOUT));
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

//===----------------------------------------------------------------------===//
// The thread
//===----------------------------------------------------------------------===//

/// Forgets the messages that are done; true if none is left.
Result<bool> MessageCommunicator::isDone(std::vector<Message> &messages) {
  size_t numLeft = 0;
  for (const Message &message : messages) {
    Result<bool> done = transport.test(message.number);
    if (!done)
      return done;
    if (!*done)
      messages[numLeft++] = message;
  }
  messages.resize(numLeft);
  return numLeft == 0;
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
    Result<bool> done = isDone(exchange.open);
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
        problem = Failure("rank " + std::to_string(transport.getRank()) +
                              " cannot complete " + describe(*exchange) + ": " +
                              done.getMessage(),
                          RG_ERROR_ABORTED);
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
