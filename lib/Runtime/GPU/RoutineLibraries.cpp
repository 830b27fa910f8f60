//===- RoutineLibraries.cpp - What computes GEMMs and attention -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoutineLibraries.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

namespace {
/// All libraries; the first that computes an instruction does.
class RoutineLibraries final : public DeviceLibrary {
public:
  explicit RoutineLibraries(const DeviceLibraryOptions &options)
      : libraries{createGemmLibrary(options), createAttentionLibrary(options)} {
  }

  Failure prepare(const rg_gpu_program &program,
                  const DriverApi &driver) override;
  Failure chooseAlgorithms(const std::string *given) override;
  std::string printAlgorithms() const override;
  std::string getNote() const override;
  bool computes(const rg_instruction &instruction) const override {
    return find(instruction) != nullptr;
  }
  int64_t getWorkspaceBytes() const override;
  Failure run(const rg_instruction &instruction, const CuAddress *buffers,
              CuAddress workspace, CuStream stream) override {
    return find(instruction)->run(instruction, buffers, workspace, stream);
  }
  std::string describe() const override;

private:
  /// Calls all, and joins what those say that fail.
  template <typename Call> Failure callAll(Call call);
  DeviceLibrary *find(const rg_instruction &instruction) const;

  std::array<std::unique_ptr<DeviceLibrary>, 2> libraries;
};
} // namespace

template <typename Call> Failure RoutineLibraries::callAll(Call call) {
  std::string message;
  for (const auto &library : libraries)
    if (Failure failure = call(*library)) {
      message += message.empty() ? "" : "\n";
      message += failure.getMessage();
    }
  return message.empty() ? Failure() : Failure(message, RG_ERROR_DEVICE);
}

Failure RoutineLibraries::prepare(const rg_gpu_program &program,
                                  const DriverApi &driver) {
  return callAll(
      [&](DeviceLibrary &library) { return library.prepare(program, driver); });
}

Failure RoutineLibraries::chooseAlgorithms(const std::string *given) {
  return callAll(
      [&](DeviceLibrary &library) { return library.chooseAlgorithms(given); });
}

std::string RoutineLibraries::printAlgorithms() const {
  // Each has members of its own, and takes them out of a text with all.
  auto json = nlohmann::json::object();
  for (const auto &library : libraries)
    json.update(nlohmann::json::parse(library->printAlgorithms()));
  return json.dump();
}

std::string RoutineLibraries::getNote() const {
  // There is one file, so that one note says all.
  std::string note;
  for (const auto &library : libraries)
    note = note.empty() ? library->getNote() : note;
  return note;
}

Failure regather::runtime::chooseAlgorithmsTogether(DeviceLibrary &library,
                                                    RankStore &store,
                                                    int rank) {
  static const std::string key = "algorithms";
  if (rank == 0) {
    Failure failure = library.chooseAlgorithms(nullptr);
    return failure ? failure : store.set(key, library.printAlgorithms());
  }
  Result<std::string> given = store.get(key, /*owner=*/0);
  return given ? library.chooseAlgorithms(&*given) : given.getFailure();
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
