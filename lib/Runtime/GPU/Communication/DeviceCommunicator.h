//===- DeviceCommunicator.h - Collectives between devices -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_COMMUNICATION_DEVICECOMMUNICATOR_H
#define REGATHER_LIB_RUNTIME_GPU_COMMUNICATION_DEVICECOMMUNICATOR_H

#include "Communication/Communicator.h"
#include "GPU/Driver/DriverApi.h"

namespace regather::runtime {

/// Collectives between ranks that compute on devices: NCCL between processes
/// (NcclCommunicator), or copies between ranks that share a device
/// (SharedDeviceCommunicator). One object serves all ranks of the process.
///
/// Everything is made by `allocate` and `prepare`; `start` only enqueues, and
/// can be captured into a graph. Graphs with collectives have to be destroyed
/// before `abort`.
class DeviceCommunicator : public Communicator {
public:
  /// Memory of the device for the arena of a rank, from which collectives are
  /// fastest; 0 for no bytes. Called before `prepare`, once for each rank, with
  /// the context of the device current. It is freed with this object.
  virtual Result<CuAddress> allocate(int64_t bytes) = 0;

  /// Enqueues the collective of an instruction of `rank` on `stream`. `buffers`
  /// are the addresses of its slices: for each member its input and its output.
  /// With several ranks in one process, ranks are started one after the other
  /// by one thread, all of them before any rank goes on to its next
  /// instruction: only with the last one is the collective on all the streams.
  virtual Failure start(int32_t rank, int64_t instruction,
                        const CuAddress *buffers, CuStream stream) = 0;

  /// Says that a graph starts a collective once more, which `start` was called
  /// for when it was captured.
  virtual void replay(int64_t instruction) {}

  /// Device memory that its library will take, about, for the collectives of a
  /// program.
  virtual int64_t estimateLibraryBytes(const rg_program & /*program*/) const {
    return 0;
  }

  /// Device memory that it holds for each rank besides the arena.
  virtual int64_t getStagingBytes() const = 0;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_COMMUNICATION_DEVICECOMMUNICATOR_H
