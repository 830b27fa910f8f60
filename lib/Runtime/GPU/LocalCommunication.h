//===- LocalCommunication.h - Groups of one rank ----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_LOCALCOMMUNICATION_H
#define REGATHER_LIB_RUNTIME_GPU_LOCALCOMMUNICATION_H

#include "DeviceCommunication.h"
#include "GpuDevice.h"

namespace regather::runtime {

/// Communication of ranks with themselves: groups of one rank. Everything is a
/// copy.
class LocalCommunication : public DeviceCommunication {
public:
  explicit LocalCommunication(const GpuDevice &device) : device(device) {}

  bool allocate(int64_t bytes, CuAddress &address,
                std::string &message) override {
    return device.check(device.getDriver().cuMemAlloc_v2(&address,
                                                         size_t(bytes)),
                        "cuMemAlloc", message);
  }
  bool prepare(const rg_gpu_program &program, std::string &message) override;
  void beginStep() override {}
  void endStep() override {}
  bool start(int32_t rank, int64_t instruction, const CuAddress *buffers,
             CuStream stream, std::string &message) override;
  bool poll(std::string &message) override { return true; }
  void abort() override {}
  int64_t getStagingBytes() const override { return 0; }

private:
  const GpuDevice &device;
  const rg_program *program = nullptr;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_LOCALCOMMUNICATION_H
