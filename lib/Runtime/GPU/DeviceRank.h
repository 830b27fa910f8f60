//===- DeviceRank.h - What a rank has on a device ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_DEVICERANK_H
#define REGATHER_LIB_RUNTIME_GPU_DEVICERANK_H

#include "GPU/Communication/DeviceCommunicator.h"
#include "GPU/Driver/GpuDevice.h"

#include "regather/Runtime/GpuProgram.h"

#include <string>
#include <vector>

namespace regather::runtime {

/// Bytes of device memory that a program takes.
struct MemoryNeed {
  /// Of each rank.
  int64_t arena = 0, arguments = 0, scratch = 0;
  /// Of all ranks together.
  int64_t constants = 0;
  /// Scratch memory of each stream that computes; aligned.
  int64_t scratchPerStream = 0;

  int64_t getPerRank() const { return arena + arguments + scratch; }
  int64_t getTotal(int32_t ranks) const {
    return getPerRank() * ranks + constants;
  }
};

/// Where arguments lie that others have memory for; 0, or nothing at all, for
/// those that a rank has memory for itself.
using ArgumentAddresses = std::vector<CuAddress>;

/// `workspace` is what a routine of a library needs.
MemoryNeed getMemoryNeed(const rg_gpu_program &program, int64_t workspace,
                         const ArgumentAddresses &given);

/// The constants of a program on a device; all ranks share them.
class DeviceConstants {
public:
  Failure upload(const GpuDevice &device, const rg_program &program,
                 CuStream stream);
  CuAddress getAddress(int32_t constant) const {
    return addresses[size_t(constant)];
  }

private:
  DeviceMemory memory;
  std::vector<CuAddress> addresses;
};

/// What a rank has on a device: memory, streams and events. All of it is made
/// by `create`, and stays until the rank is destroyed.
class DeviceRank {
public:
  DeviceRank(const GpuDevice &device, const rg_program &program,
             const DeviceConstants &constants, int32_t rank)
      : device(device), program(program), constants(constants), rank(rank) {}
  DeviceRank(const DeviceRank &) = delete;
  DeviceRank &operator=(const DeviceRank &) = delete;
  ~DeviceRank();

  /// `communicator` provides the arena.
  Failure create(const MemoryNeed &need, const ArgumentAddresses &given,
                 DeviceCommunicator &communicator);

  CuAddress resolve(const rg_slice &slice) const;
  CuAddress getArgument(int64_t i) const { return arguments[size_t(i)]; }
  CuAddress getArena() const { return arena; }
  /// Scratch memory of a stream; 0 if the stream does not compute.
  CuAddress getScratch(int32_t stream) const { return scratch[size_t(stream)]; }
  CuStream getStream(int32_t i) const { return streams[size_t(i)]; }
  CuEvent getEvent(int32_t i) const { return events[size_t(i)]; }
  int32_t getNumStreams() const { return int32_t(streams.size()); }
  int32_t getRank() const { return rank; }
  /// Memory of the host that the device writes without help.
  uint64_t *getHostValue() const { return hostValue; }

  /// Lets what follows on all other streams come after what is enqueued on
  /// stream 0, or what follows on stream 0 after what is enqueued on them.
  Failure forkStreams();
  Failure joinStreams();

  /// Marks the begin and the end of a step on stream 0.
  Failure recordBegin();
  Failure recordEnd();
  CuEvent getBegin() const { return begin; }
  /// Seconds between the two, once the device is done.
  double getSeconds() const;

private:
  Failure createStream(bool isCommunicating, int least, int greatest);
  Failure createStreams();
  Failure createEvents();
  Failure allocate(const MemoryNeed &need, const ArgumentAddresses &given,
                   DeviceCommunicator &communicator);
  Failure allocateOnHost(int64_t bytes, void *&memory);
  Failure allocateArguments(const ArgumentAddresses &given);
  Failure createEvent(CuEvent &event, unsigned flags);
  Failure record(CuEvent event, int32_t stream);
  /// Lets a stream wait for the joint of another.
  Failure waitForJoint(int32_t stream, int32_t other);

  const GpuDevice &device;
  const rg_program &program;
  const DeviceConstants &constants;
  int32_t rank;
  CuAddress arena = 0;
  DeviceMemory argumentMemory, scratchMemory;
  std::vector<CuAddress> arguments, scratch;
  std::vector<CuStream> streams;
  std::vector<CuEvent> events;
  /// One for each stream, for forks and joins.
  std::vector<CuEvent> joints;
  CuEvent begin = nullptr, end = nullptr;
  uint64_t *hostValue = nullptr;
  /// The arena of the host; null if there is none. Memory of arguments that lie
  /// there.
  void *hostArena = nullptr;
  std::vector<void *> hostArguments;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_DEVICERANK_H
