//===- RoutineLibraries.cpp - What computes products and attention --------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoutineLibraries.h"

#include <algorithm>
#include <array>

using namespace regather::runtime;

namespace {
/// All libraries; the first that computes an instruction does.
class RoutineLibraries final : public DeviceLibrary {
public:
  explicit RoutineLibraries(const DeviceLibraryOptions &options)
      : libraries{createProductLibrary(options),
                  createAttentionLibrary(options)} {}

  bool prepare(const rg_gpu_program &program, const DriverApi &driver,
               std::string &message) override;
  bool computes(const rg_instruction &instruction) const override {
    return find(instruction) != nullptr;
  }
  int64_t getWorkspaceBytes() const override;
  bool run(const rg_instruction &instruction, const CuAddress *buffers,
           CuAddress workspace, CuStream stream,
           std::string &message) override {
    return find(instruction)
        ->run(instruction, buffers, workspace, stream, message);
  }
  std::string describe() const override;

private:
  DeviceLibrary *find(const rg_instruction &instruction) const;

  std::array<std::unique_ptr<DeviceLibrary>, 2> libraries;
};
} // namespace

bool RoutineLibraries::prepare(const rg_gpu_program &program,
                               const DriverApi &driver, std::string &message) {
  message.clear();
  for (const auto &library : libraries) {
    std::string problem;
    if (library->prepare(program, driver, problem))
      continue;
    message += message.empty() ? "" : "\n";
    message += problem;
  }
  return message.empty();
}

DeviceLibrary *RoutineLibraries::find(const rg_instruction &instruction) const {
  for (const auto &library : libraries)
    if (library->computes(instruction))
      return library.get();
  return nullptr;
}

int64_t RoutineLibraries::getWorkspaceBytes() const {
  int64_t bytes = 0;
  for (const auto &library : libraries)
    bytes = std::max(bytes, library->getWorkspaceBytes());
  return bytes;
}

std::string RoutineLibraries::describe() const {
  std::string text;
  for (const auto &library : libraries)
    text += library->describe();
  return text;
}

std::unique_ptr<DeviceLibrary>
regather::runtime::createDeviceLibrary(const DeviceLibraryOptions &options) {
  return std::make_unique<RoutineLibraries>(options);
}
