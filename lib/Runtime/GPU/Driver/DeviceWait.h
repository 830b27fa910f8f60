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
  DeviceWait(const GpuDevice &device, DeviceCommunicator &communication)
      : device(device), communication(communication) {}

  /// How long waits take at most, in seconds.
  void setTimeout(double newSeconds) { seconds = newSeconds; }

  /// RG_OK when all that is enqueued on the stream is done; else an error and a
  /// message.
  rg_status wait(CuStream stream, std::string &message);

private:
  const GpuDevice &device;
  DeviceCommunicator &communication;
  double seconds = 0;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_DRIVER_DEVICEWAIT_H
