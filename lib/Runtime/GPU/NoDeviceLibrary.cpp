//===- NoDeviceLibrary.cpp - Generated kernels alone ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceLibrary.h"

using namespace regather::runtime;

namespace {
/// Leaves all routines to kernels that were generated for them.
class NoDeviceLibrary : public DeviceLibrary {
public:
  bool prepare(const rg_gpu_program &program, const DriverApi &driver,
               std::string &message) override;
  bool computes(const rg_instruction &instruction) const override {
    return false;
  }
  int64_t getWorkspaceBytes() const override { return 0; }
  bool run(const rg_instruction &instruction, const CuAddress *buffers,
           CuAddress workspace, CuStream stream,
           std::string &message) override {
    message = "there is no library for the routine";
    return false;
  }
};
} // namespace

bool NoDeviceLibrary::prepare(const rg_gpu_program &program,
                              const DriverApi &driver, std::string &message) {
  std::string missing;
  auto add = [&](const char *name, const rg_gpu_kernel *kernels,
                 int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      if (kernels[i].launch_count == 0)
        missing += (missing.empty() ? "" : ", ") + (name + std::to_string(i));
  };
  add("matrix product ", program.gemms, program.program->gemm_count);
  add("attention ", program.attentions, program.program->attention_count);
  if (missing.empty())
    return true;
  message = "nothing computes " + missing;
  return false;
}

std::unique_ptr<DeviceLibrary>
regather::runtime::createDeviceLibrary(const DeviceLibraryOptions &options) {
  return std::make_unique<NoDeviceLibrary>();
}
