//===- HostPlanRunner.cpp - Phases of plans on hosts ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostPlanRunner.h"

#include <cstring>

using namespace regather::runtime;

char *HostPlanMemory::get(const PlanAddress &address) const {
  if (address.space == PlanSpace::Staging)
    return staging + address.offset;
  void *base =
      buffers[2 * address.member + (address.space == PlanSpace::Output)];
  return static_cast<char *>(base) + address.offset;
}

static void reduce(const PlanReduction &reduction, int64_t ranks,
                   const HostPlanMemory &memory) {
  const char *first = memory.get(reduction.sources);
  std::vector<const char *> sources;
  for (int64_t position = 0; position < ranks; ++position)
    sources.push_back(first + position * reduction.stride);
  reduceRun(reduction.type, sources, {memory.get(reduction.target)},
            reduction.count);
}

static void copy(const PlanCopy &item, const HostPlanMemory &memory) {
  char *target = memory.get(item.target);
  const char *source = memory.get(item.source);
  // A shard may lie where it belongs already.
  for (int64_t row = 0; row < item.rows; ++row)
    std::memmove(target + row * item.targetPitch,
                 source + row * item.sourcePitch, size_t(item.width));
}

void regather::runtime::runPhase(const PlanPhase &phase, int64_t ranks,
                                 const HostPlanMemory &memory) {
  for (const PlanReduction &reduction : phase.reductions)
    reduce(reduction, ranks, memory);
  for (const PlanClear &clear : phase.clears)
    std::memset(memory.get(clear.target), 0, size_t(clear.bytes));
  for (const PlanCopy &item : phase.copies)
    copy(item, memory);
}
