//===- SharedDeviceCommunicator.cpp - Ranks on one device -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedDeviceCommunicator.h"

#include "Program/RankGroups.h"

#include <algorithm>
#include <deque>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

SharedDeviceCommunicator::~SharedDeviceCommunicator() {
  for (const std::vector<CuEvent> &list : events)
    for (CuEvent event : list)
      if (event)
        driver.cuEventDestroy_v2(event);
  for (CuAddress address : allocations)
    driver.cuMemFree_v2(address);
}

Result<CuAddress> SharedDeviceCommunicator::allocate(int64_t bytes) {
  CuAddress address = 0;
  if (bytes == 0)
    return address;
  CuResult result = driver.cuMemAlloc_v2(&address, size_t(bytes));
  if (result == kCuSuccess) {
    allocations.push_back(address);
    return address;
  }
  size_t free = 0, total = 0;
  driver.cuMemGetInfo_v2(&free, &total);
  return Failure("cannot allocate " + std::to_string(bytes) +
                     " bytes on the device, of which " + std::to_string(free) +
                     " are free: " + driver.describe(result),
                 RG_ERROR_MEMORY);
}

//===----------------------------------------------------------------------===//
// Set-up
//===----------------------------------------------------------------------===//

/// The k-th message that a position sends to another one is the k-th that the
/// other receives from it.
template <typename Delivery>
static bool matchMessages(const std::vector<CollectivePlan> &plans,
                          size_t phase, std::vector<Delivery> &deliveries) {
  size_t numRanks = plans.size();
  std::vector<std::deque<const PlanMessage *>> sent(numRanks * numRanks);
  for (size_t from = 0; from < numRanks; ++from)
    if (phase < plans[from].phases.size())
      for (const PlanMessage &message : plans[from].phases[phase].sends)
        sent[from * numRanks + size_t(message.peer)].push_back(&message);
  size_t numSent = 0, numReceived = 0;
  for (const auto &list : sent)
    numSent += list.size();
  for (size_t to = 0; to < numRanks; ++to) {
    if (phase >= plans[to].phases.size())
      continue;
    for (const PlanMessage &message : plans[to].phases[phase].receives) {
      auto &list = sent[size_t(message.peer) * numRanks + to];
      if (list.empty() || list.front()->bytes != message.bytes)
        return false;
      deliveries.push_back({message.peer, int64_t(to), list.front()->address,
                            message.address, message.bytes});
      list.pop_front();
      ++numReceived;
    }
  }
  return numSent == numReceived;
}

Failure SharedDeviceCommunicator::planCollectives() {
  for (int64_t i = 0; i < program->collective_count; ++i) {
    const rg_collective_entry &entry = program->collectives[i];
    const std::string name = "transfer " + std::to_string(i);
    auto groupRanks = int64_t(getGroup(program->axes[entry.axes], 0).size());
    Collective collective;
    std::string problem = readCollective(entry, groupRanks, collective);
    if (!problem.empty())
      return Failure(name + ": " + problem, RG_ERROR_ARGUMENT);
    GroupPlan &plan = collectives.emplace_back();
    size_t numPhases = 0;
    for (int64_t position = 0; position < groupRanks; ++position) {
      PlanOptions options;
      options.ranks = groupRanks;
      options.position = position;
      options.reductionBytes = reductionBytes;
      plan.plans.push_back(planCollective(collective, options));
      numPhases = std::max(numPhases, plan.plans.back().phases.size());
      if (Failure problem = runner.prepare(plan.plans.back()))
        return problem;
    }
    plan.deliveries.resize(numPhases);
    for (size_t phase = 0; phase < numPhases; ++phase)
      if (!matchMessages(plan.plans, phase, plan.deliveries[phase]))
        return Failure(name + ": messages of its ranks do not match",
                       RG_ERROR_MISMATCH);
  }
  return Failure();
}

bool SharedDeviceCommunicator::makeGroups() {
  groupNumbers.resize(size_t(program->axes_count));
  for (size_t axes = 0; axes < groupNumbers.size(); ++axes) {
    groupNumbers[axes].resize(size_t(ranks));
    for (int32_t rank = 0; rank < ranks; ++rank) {
      std::vector<int32_t> members = getGroup(program->axes[axes], rank);
      if (members.back() >= ranks)
        return false;
      if (members.front() == rank) {
        groupNumbers[axes][size_t(rank)] = groups.size();
        Group &group = groups.emplace_back();
        group.arrivals.resize(members.size());
        group.members = std::move(members);
      } else {
        groupNumbers[axes][size_t(rank)] =
            groupNumbers[axes][size_t(members.front())];
      }
    }
  }
  return true;
}

Failure SharedDeviceCommunicator::makeStreams() {
  auto numStreams = size_t(program->stream_count);
  std::vector<int64_t> needed(numStreams);
  for (int64_t i = 0; i < program->instruction_count; ++i) {
    const rg_instruction &instruction = program->instructions[i];
    if (instruction.opcode != RG_OP_COLLECTIVE)
      continue;
    for (const CollectivePlan &plan :
         collectives[size_t(instruction.index)].plans)
      needed[size_t(instruction.stream)] =
          std::max(needed[size_t(instruction.stream)], plan.stagingBytes);
  }
  for (int64_t bytes : needed)
    stagingBytes += bytes;
  events.assign(size_t(ranks), std::vector<CuEvent>(numStreams));
  staging.assign(size_t(ranks), std::vector<CuAddress>(numStreams));
  for (size_t rank = 0; rank < size_t(ranks); ++rank)
    for (size_t stream = 0; stream < numStreams; ++stream) {
      if (Failure problem =
              driver.check(driver.cuEventCreate(&events[rank][stream],
                                                kCuEventDisableTiming),
                           "cannot create an event"))
        return problem;
      Result<CuAddress> memory = allocate(needed[stream]);
      if (!memory)
        return memory.getFailure();
      staging[rank][stream] = *memory;
    }
  return Failure();
}

Failure SharedDeviceCommunicator::prepare(const rg_program &newProgram,
                                          bool /*inGraphs*/) {
  program = &newProgram;
  if (!makeGroups())
    return Failure("the program is for more than " + std::to_string(ranks) +
                       " ranks",
                   RG_ERROR_ARGUMENT);
  Failure problem = planCollectives();
  return problem ? problem : makeStreams();
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// What a stream does next begins when all streams of the group are here.
Failure SharedDeviceCommunicator::joinStreams(const Group &group) {
  const Arrival &first = group.arrivals.front();
  auto record = [&](const Arrival &arrival) {
    return driver.check(driver.cuEventRecord(arrival.event, arrival.stream),
                        "cannot record an event");
  };
  auto wait = [&](const Arrival &arrival, const Arrival &other) {
    return driver.check(
        driver.cuStreamWaitEvent(arrival.stream, other.event, 0),
        "cannot wait for an event");
  };
  Failure problem;
  for (size_t i = 1; !problem && i < group.arrivals.size(); ++i) {
    problem = record(group.arrivals[i]);
    if (!problem)
      problem = wait(first, group.arrivals[i]);
  }
  if (!problem)
    problem = record(first);
  for (size_t i = 1; !problem && i < group.arrivals.size(); ++i)
    problem = wait(group.arrivals[i], first);
  return problem;
}

Failure SharedDeviceCommunicator::run(Group &group, const GroupPlan &plan) {
  auto getMemory = [&](int64_t position) {
    const Arrival &arrival = group.arrivals[size_t(position)];
    return PlanMemory{arrival.buffers.data(), arrival.staging};
  };
  auto getLabel = [&](size_t position) {
    int64_t number = group.arrivals[position].instruction;
    return WorkLabel{group.members[position], number,
                     program->instructions[number].description};
  };
  for (size_t phase = 0; phase < plan.deliveries.size(); ++phase) {
    for (size_t i = 0; i < group.members.size(); ++i) {
      const std::vector<PlanPhase> &phases = plan.plans[i].phases;
      const Arrival &arrival = group.arrivals[i];
      if (phase >= phases.size())
        continue;
      if (Failure problem =
              runner.run(phases[phase], int64_t(group.members.size()),
                         getMemory(int64_t(i)), arrival.stream, getLabel(i)))
        return problem;
    }
    if (plan.deliveries[phase].empty())
      continue;
    // What is sent has been written, and what is received may be overwritten;
    // afterwards, what was sent may be overwritten.
    if (Failure problem = joinStreams(group))
      return problem;
    for (const Delivery &delivery : plan.deliveries[phase]) {
      NvtxRange range(getLabel(size_t(delivery.receiver)));
      if (Failure problem = driver.check(
              driver.cuMemcpyDtoDAsync_v2(
                  getMemory(delivery.receiver).get(delivery.target),
                  getMemory(delivery.sender).get(delivery.source),
                  size_t(delivery.bytes),
                  group.arrivals[size_t(delivery.receiver)].stream),
              "cannot copy between ranks"))
        return problem;
    }
    if (Failure problem = joinStreams(group))
      return problem;
  }
  return Failure();
}

Failure SharedDeviceCommunicator::start(int32_t rank, int64_t number,
                                        const CuAddress *buffers,
                                        CuStream stream) {
  if (Failure known = poll())
    return known;
  Failure problem = arrive(rank, number, buffers, stream);
  if (!problem)
    return problem;
  std::lock_guard<std::mutex> lock(failureMutex);
  return failure = std::move(problem);
}

Failure SharedDeviceCommunicator::poll() {
  std::lock_guard<std::mutex> lock(failureMutex);
  return failure;
}

void SharedDeviceCommunicator::abort(const std::string &reason) {
  std::lock_guard<std::mutex> lock(failureMutex);
  if (!failure)
    failure = Failure(reason, RG_ERROR_ABORTED);
}

Failure SharedDeviceCommunicator::arrive(int32_t rank, int64_t number,
                                         const CuAddress *buffers,
                                         CuStream stream) {
  const rg_instruction &instruction = program->instructions[number];
  const rg_collective_entry &entry = program->collectives[instruction.index];
  Group &group = groups[groupNumbers[size_t(entry.axes)][size_t(rank)]];
  auto position = size_t(getPosition(program->axes[entry.axes], rank));
  Arrival &arrival = group.arrivals[position];
  auto describe = [&](int32_t of, int64_t at) {
    const char *description = program->instructions[at].description;
    return "rank " + std::to_string(of) + " starts " +
           (description ? description : "instruction " + std::to_string(at));
  };
  if (arrival.instruction >= 0)
    return Failure(describe(rank, number) + " before all ranks of its group " +
                       formatList(group.members) +
                       " have started instruction " +
                       std::to_string(arrival.instruction),
                   RG_ERROR_DEVICE);
  for (size_t i = 0; i < group.members.size(); ++i) {
    int64_t other = group.arrivals[i].instruction;
    if (other >= 0 && other != number)
      return Failure(describe(rank, number) + ", but " +
                         describe(group.members[i], other),
                     RG_ERROR_DEVICE);
  }
  arrival.instruction = number;
  arrival.buffers.assign(buffers, buffers + instruction.slice_count);
  arrival.stream = stream;
  arrival.event = events[size_t(rank)][size_t(instruction.stream)];
  arrival.staging = staging[size_t(rank)][size_t(instruction.stream)];
  if (++group.numArrived < group.members.size())
    return Failure();
  Failure problem = run(group, collectives[size_t(instruction.index)]);
  group.numArrived = 0;
  for (Arrival &each : group.arrivals)
    each.instruction = -1;
  return problem;
}
