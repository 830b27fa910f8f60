//===- SharedDeviceCommunicator.h - Ranks on one device ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_COMMUNICATION_SHAREDDEVICECOMMUNICATOR_H
#define REGATHER_LIB_RUNTIME_GPU_COMMUNICATION_SHAREDDEVICECOMMUNICATOR_H

#include "DeviceCommunicator.h"
#include "PlanRunner.h"

#include <mutex>

namespace regather::runtime {

/// Several ranks of a program in one process, on one device, each with streams
/// and an arena of its own. They follow the plans that NCCL follows between
/// processes; a message is a copy, before and after which the streams of the
/// group wait for each other by events. Reductions are always in rank order.
///
/// A collective joins streams of several ranks, so that a graph that holds one
/// is captured for all of them together, as GraphCapture does.
class SharedDeviceCommunicator : public DeviceCommunicator {
public:
  /// `reductionBytes` as in PlanOptions.
  SharedDeviceCommunicator(const DriverApi &driver, int32_t ranks,
                           int64_t reductionBytes = int64_t(64) << 20)
      : driver(driver), ranks(ranks), reductionBytes(reductionBytes),
        runner(driver) {}
  ~SharedDeviceCommunicator() override;

  Result<CuAddress> allocate(int64_t bytes) override;
  Failure prepare(const rg_program &program, bool inGraphs) override;
  void beginStep() override {}
  void endStep() override {}
  Failure start(int32_t rank, int64_t instruction, const CuAddress *buffers,
                CuStream stream) override;
  Failure poll() override;
  /// What is on the streams goes on.
  void abort(const std::string &reason) override;
  int64_t getStagingBytes() const override { return stagingBytes; }

private:
  /// A message as a copy between two positions.
  struct Delivery {
    int64_t sender, receiver;
    PlanAddress source, target;
    int64_t bytes;
  };
  /// A collective for the positions of a group.
  struct GroupPlan {
    std::vector<CollectivePlan> plans;
    /// For each phase.
    std::vector<std::vector<Delivery>> deliveries;
  };
  /// A member that has started the collective which its group comes to next.
  struct Arrival {
    int64_t instruction = -1;
    std::vector<CuAddress> buffers;
    CuStream stream = nullptr;
    CuEvent event = nullptr;
    CuAddress staging = 0;
  };
  struct Group {
    std::vector<int32_t> members;
    std::vector<Arrival> arrivals;
    size_t numArrived = 0;
  };

  Failure planCollectives();
  bool makeGroups();
  Failure makeStreams();
  /// Notes that a rank has come to an instruction.
  Failure arrive(int32_t rank, int64_t instruction, const CuAddress *buffers,
                 CuStream stream);
  Failure run(Group &group, const GroupPlan &plan);
  Failure joinStreams(const Group &group);

  const DriverApi &driver;
  int32_t ranks;
  int64_t reductionBytes;
  PlanRunner runner;
  const rg_program *program = nullptr;
  std::vector<GroupPlan> collectives;
  std::vector<Group> groups;
  /// For axes and rank, the number of the group.
  std::vector<std::vector<size_t>> groupNumbers;
  /// For rank and stream.
  std::vector<std::vector<CuEvent>> events;
  std::vector<std::vector<CuAddress>> staging;
  std::vector<CuAddress> allocations;
  int64_t stagingBytes = 0;
  std::mutex failureMutex;
  Failure failure;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_COMMUNICATION_SHAREDDEVICECOMMUNICATOR_H
