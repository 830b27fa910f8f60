//===- StandInNccl.cpp - Communicators without a network ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StandInNccl.h"

#include <cstdlib>
#include <cstring>

using namespace regather::runtime;

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

std::shared_ptr<NcclCommTag> StandInNccl::create(const std::string &id,
                                                 int ranks, int position,
                                                 NcclResult &result) {
  std::shared_ptr<NcclGroup> &group = groups[id];
  if (!group) {
    group = std::make_shared<NcclGroup>();
    group->ranks = ranks;
    group->members.resize(size_t(ranks));
  }
  if (group->ranks != ranks || position < 0 || position >= ranks ||
      group->members[size_t(position)]) {
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

NcclResult StandInNccl::getState(const NcclCommTag &comm) const {
  if (comm.error != kNcclSuccess)
    return comm.error;
  bool isPending = comm.group->numMembers < size_t(comm.group->ranks) ||
                   (comm.last && !comm.last->isDone);
  return isPending ? kNcclInProgress : kNcclSuccess;
}

/// What a member is to suffer in its next exchange: 'h', 'e' or nothing.
static char getFault(const NcclCommTag &comm) {
  const char *text = std::getenv("REGATHER_STAND_IN_NCCL_FAULT");
  const char *colon = text ? std::strchr(text, ':') : nullptr;
  if (!colon)
    return 0;
  char *end = nullptr;
  long position = std::strtol(colon + 1, &end, 10);
  bool isHere = *end == ':' && position == comm.position &&
                std::strtoull(end + 1, nullptr, 10) == comm.numExchanges;
  return isHere ? *text : '\0';
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
  }
  std::shared_ptr<NcclExchange> exchange = place;
  comm->last = exchange;
  char fault = getFault(*comm);
  if (fault == 'e') {
    comm->error = fail(kNcclRemoteError, "an injected failure");
    return kNcclSuccess;
  }
  if (fault != 'h') {
    exchange->operations[size_t(comm->position)] = std::move(operations);
    ++exchange->numArrived;
  }
  if (exchange->numArrived == size_t(group.ranks)) {
    std::string problem = checkOperations(exchange->operations);
    if (problem.empty())
      moveOperations(exchange->operations);
    else
      for (const std::shared_ptr<NcclCommTag> &member : group.members)
        member->error =
            fail(kNcclInvalidUsage, "exchange " + std::to_string(number) +
                                        " of a communicator: " + problem);
    exchange->isDone = true;
    group.exchanges.erase(number);
    wake.notify_all();
  }
  if (isAwaited)
    wake.wait(lock, [&] { return exchange->isDone || comm->isAborted; });
  return comm->error;
}
