//===- DeviceWait.h - Waits that end ----------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_DRIVER_DEVICEWAIT_H
#define REGATHER_LIB_RUNTIME_GPU_DRIVER_DEVICEWAIT_H

#include "GPU/Communication/DeviceCommunicator.h"
#include "GpuDevice.h"

namespace regather::runtime {

/// Waits for streams, but never for longer than a time, nor after communication
/// has failed.
class DeviceWait {
public:
  DeviceWait(const GpuDevice &device, DeviceCommunicator &communicator)
      : device(device), communicator(communicator) {}

  /// How long waits take at most, in seconds.
  void setTimeout(double newSeconds) { seconds = newSeconds; }

  /// Returns when all that is enqueued on the stream is done. Fails with
  /// RG_ERROR_TIMEOUT if that takes too long.
  Failure wait(CuStream stream);

private:
  const GpuDevice &device;
  DeviceCommunicator &communicator;
  double seconds = 0;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_DRIVER_DEVICEWAIT_H
