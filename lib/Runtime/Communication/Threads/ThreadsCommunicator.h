//===- ThreadsCommunicator.h - Ranks that are threads -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_COMMUNICATION_THREADS_THREADSCOMMUNICATOR_H
#define REGATHER_LIB_RUNTIME_COMMUNICATION_THREADS_THREADSCOMMUNICATOR_H

#include "Communication/Communicator.h"
#include "World.h"

namespace regather::runtime {

/// All ranks are threads of this process, and collectives copy between their
/// memory. A rank that can never go on is told so at once.
class ThreadsCommunicator : public HostCommunicator {
public:
  ThreadsCommunicator(int32_t ranks, double timeoutSeconds, InjectedLink link)
      : world(ranks, timeoutSeconds, link), members(size_t(ranks)) {}

  /// Starts threads that move data, one for each processor; false if there are
  /// none. Before `prepare`.
  bool startWorkers();

  Failure prepare(const rg_program &program, bool inGraphs) override;
  void beginStep() override;
  void endStep() override {}
  Failure poll() override;
  void abort(const std::string &reason) override;

  Result<PendingCollective *> start(int32_t rank, int64_t instruction,
                                    void *const *buffers) override;
  Failure wait(PendingCollective *pending, rg_collective_times &times) override;
  void finishRank(int32_t rank) override;

private:
  Failure describe(rg_status status) const;

  World world;
  const rg_program *program = nullptr;
  /// By rank and axes.
  std::vector<std::vector<GroupView *>> views;
  /// By rank: what `start` fills in.
  std::vector<std::vector<rg_member>> members;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_COMMUNICATION_THREADS_THREADSCOMMUNICATOR_H
