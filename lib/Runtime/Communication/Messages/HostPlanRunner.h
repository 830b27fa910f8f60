//===- HostPlanRunner.h - Phases of plans on hosts --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_COMMUNICATION_MESSAGES_HOSTPLANRUNNER_H
#define REGATHER_LIB_RUNTIME_COMMUNICATION_MESSAGES_HOSTPLANRUNNER_H

#include "Communication/CollectivePlan.h"

namespace regather::runtime {

/// Where the buffers of a plan lie on a host while it runs.
struct HostPlanMemory {
  /// For each member its input and its output.
  void *const *buffers;
  char *staging;

  char *get(const PlanAddress &address) const;
};

/// Does what a phase does besides the exchange, for a group of `ranks`: adds
/// contributions in the order of the group, clears and copies.
void runPhase(const PlanPhase &phase, int64_t ranks,
              const HostPlanMemory &memory);

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_COMMUNICATION_MESSAGES_HOSTPLANRUNNER_H
