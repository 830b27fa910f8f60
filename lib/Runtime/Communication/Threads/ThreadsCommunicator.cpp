//===- ThreadsCommunicator.cpp - Ranks that are threads -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadsCommunicator.h"

#include "Program/RankGroups.h"

#include <algorithm>
#include <thread>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

Failure ThreadsCommunicator::describe(rg_status status) const {
  return status == RG_OK ? Failure() : Failure(world.getError(), status);
}

bool ThreadsCommunicator::startWorkers() {
  return world.startWorkers(
      std::max<int64_t>(std::thread::hardware_concurrency(), 1));
}

Failure ThreadsCommunicator::prepare(const rg_program &tables,
                                     bool /*inGraphs*/) {
  program = &tables;
  views.resize(members.size());
  for (int32_t rank = 0; rank < world.getNumRanks(); ++rank)
    for (int64_t axes = 0; axes < tables.axes_count; ++axes) {
      std::vector<int32_t> group = getGroup(tables.axes[axes], rank);
      GroupView *view = nullptr;
      if (rg_status status =
              world.getView(rank, group.data(), int32_t(group.size()), view))
        return describe(status);
      views[size_t(rank)].push_back(view);
    }
  return Failure();
}

void ThreadsCommunicator::beginStep() {
  for (int32_t rank = 0; rank < world.getNumRanks(); ++rank)
    world.resumeRank(rank);
}

Failure ThreadsCommunicator::poll() { return describe(world.getStatus()); }

void ThreadsCommunicator::abort(const std::string &reason) {
  world.abort(reason.c_str());
}

Result<PendingCollective *>
ThreadsCommunicator::start(int32_t rank, int64_t number, void *const *buffers) {
  const rg_instruction &instruction = program->instructions[number];
  const rg_collective_entry &entry = program->collectives[instruction.index];
  rg_collective collective = entry.collective;
  std::vector<rg_member> &list = members[size_t(rank)];
  list.assign(collective.members, collective.members + collective.member_count);
  for (size_t i = 0; i < list.size(); ++i) {
    list[i].input = buffers[2 * i];
    list[i].output = buffers[2 * i + 1];
  }
  collective.members = list.data();
  Future *future = nullptr;
  if (rg_status status = world.start(*views[size_t(rank)][size_t(entry.axes)],
                                     collective, future))
    return describe(status);
  return static_cast<PendingCollective *>(future);
}

Failure ThreadsCommunicator::wait(PendingCollective *pending,
                                  rg_collective_times &times) {
  return describe(world.wait(static_cast<Future *>(pending), &times));
}

void ThreadsCommunicator::finishRank(int32_t rank) { world.finishRank(rank); }
