//===- StandInNccl.cpp - Communicators without a network ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NcclFolder.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

using namespace regather::runtime;

NcclGroup::~NcclGroup() = default;

StandInNccl &StandInNccl::get() {
  // Never destroyed: other threads may call until the process has ended.
  static auto *nccl = new StandInNccl();
  return *nccl;
}

std::shared_ptr<NcclCommTag> StandInNccl::find(NcclComm comm) const {
  auto found = comms.find(comm);
  return found == comms.end() ? nullptr : found->second;
}

NcclResult StandInNccl::fail(NcclResult result, const std::string &text) {
  lastError = text;
  return result;
}

/// What a member is to suffer in its next exchange, of which it has begun
/// `numExchanges`; 0 is its creation: 'h', 'e', 's' or nothing.
static char getFault(int memberPosition, size_t numExchanges) {
  const char *text = std::getenv("REGATHER_STAND_IN_NCCL_FAULT");
  const char *colon = text ? std::strchr(text, ':') : nullptr;
  if (!colon)
    return 0;
  char *end = nullptr;
  long position = std::strtol(colon + 1, &end, 10);
  bool isHere = *end == ':' && position == memberPosition &&
                std::strtoull(end + 1, nullptr, 10) == numExchanges;
  return isHere ? *text : '\0';
}

std::shared_ptr<NcclCommTag> StandInNccl::create(const std::string &id,
                                                 int ranks, int position,
                                                 NcclResult &result) {
  if (getFault(position, 0) == 's')
    raise(SIGSTOP);
  std::shared_ptr<NcclGroup> &group = groups[id];
  if (!group) {
    group = std::make_shared<NcclGroup>();
    group->ranks = ranks;
    group->members.resize(size_t(ranks));
    group->folder = NcclFolder::open(id, ranks);
  }
  if (group->ranks != ranks || position < 0 || position >= ranks ||
      group->members[size_t(position)] ||
      (group->folder && !group->folder->join(position))) {
    result = fail(kNcclInvalidArgument,
                  "position " + std::to_string(position) + " of " +
                      std::to_string(ranks) +
                      " does not fit to the others with the same id");
    return nullptr;
  }
  auto comm = std::make_shared<NcclCommTag>();
  comm->number = ++numCreated;
  comm->group = group;
  comm->position = position;
  group->members[size_t(position)] = comm;
  ++group->numMembers;
  comms[comm.get()] = comm;
  wake.notify_all();
  return comm;
}

void StandInNccl::destroy(NcclComm comm, bool isAbort) {
  auto found = comms.find(comm);
  if (found == comms.end())
    return;
  found->second->isAborted = isAbort;
  comms.erase(found);
  wake.notify_all();
}

NcclResult StandInNccl::getState(const NcclCommTag &comm) {
  NcclGroup &group = *comm.group;
  if (comm.last && group.folder)
    advance(group, *comm.last);
  if (comm.error != kNcclSuccess)
    return comm.error;
  bool isComplete = group.folder ? group.folder->isComplete()
                                 : group.numMembers == size_t(group.ranks);
  bool isPending = !isComplete || (comm.last && !comm.last->isDone);
  return isPending ? kNcclInProgress : kNcclSuccess;
}

void StandInNccl::advance(NcclGroup &group, NcclExchange &exchange) {
  if (exchange.isDone)
    return;
  for (int position = 0; group.folder && position < group.ranks; ++position) {
    auto place = size_t(position);
    if (exchange.hasArrived[place] || group.members[place] ||
        !group.folder->read(exchange.number, position,
                            exchange.operations[place], exchange.memory))
      continue;
    exchange.hasArrived[place] = true;
    ++exchange.numArrived;
  }
  if (exchange.numArrived < size_t(group.ranks))
    return;
  std::string problem = checkOperations(exchange.operations);
  if (problem.empty())
    moveOperations(exchange.operations);
  for (const std::shared_ptr<NcclCommTag> &member : group.members)
    if (member && !problem.empty())
      member->error = fail(kNcclInvalidUsage,
                           "exchange " + std::to_string(exchange.number) +
                               " of a communicator: " + problem);
  exchange.isDone = true;
  exchange.memory.clear();
  group.exchanges.erase(exchange.number);
  wake.notify_all();
}

NcclResult StandInNccl::arrive(const std::shared_ptr<NcclCommTag> &comm,
                               std::vector<NcclOperation> operations,
                               bool isAwaited) {
  std::unique_lock<std::mutex> lock(mutex);
  NcclGroup &group = *comm->group;
  size_t number = ++comm->numExchanges;
  std::shared_ptr<NcclExchange> &place = group.exchanges[number];
  if (!place) {
    place = std::make_shared<NcclExchange>();
    place->operations.resize(size_t(group.ranks));
    place->hasArrived.resize(size_t(group.ranks));
    place->number = number;
  }
  std::shared_ptr<NcclExchange> exchange = place;
  // Whoever has come to the last exchange has read the one before.
  if (group.folder && comm->last && comm->last->isDone && number > 2)
    group.folder->remove(number - 2, comm->position);
  comm->last = exchange;
  char fault = getFault(comm->position, comm->numExchanges);
  if (fault == 'e') {
    comm->error = fail(kNcclRemoteError, "an injected failure");
    return kNcclSuccess;
  }
  if (fault != 'h') {
    if (group.folder)
      group.folder->post(number, comm->position, operations);
    exchange->operations[size_t(comm->position)] = std::move(operations);
    exchange->hasArrived[size_t(comm->position)] = true;
    ++exchange->numArrived;
  }
  advance(group, *exchange);
  // Nobody tells of other processes.
  while (isAwaited && !exchange->isDone && !comm->isAborted) {
    wake.wait_for(lock, std::chrono::milliseconds(1));
    advance(group, *exchange);
  }
  return comm->error;
}
