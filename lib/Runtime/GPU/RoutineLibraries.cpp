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

namespace {
/// All libraries; the first that computes an instruction does.
class RoutineLibraries final : public DeviceLibrary {
public:
  explicit RoutineLibraries(const DeviceLibraryOptions &options)
      : libraries{createGemmLibrary(options), createAttentionLibrary(options)} {
  }

  bool prepare(const rg_gpu_program &program, const DriverApi &driver,
               std::string &message) override;
  bool chooseAlgorithms(const std::string *given,
                        std::string &message) override;
  std::string printAlgorithms() const override;
  std::string getNote() const override;
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
  /// Calls all, and joins what those say that return false.
  template <typename Call> bool callAll(std::string &message, Call call);
  DeviceLibrary *find(const rg_instruction &instruction) const;

  std::array<std::unique_ptr<DeviceLibrary>, 2> libraries;
};
} // namespace

template <typename Call>
bool RoutineLibraries::callAll(std::string &message, Call call) {
  message.clear();
  for (const auto &library : libraries) {
    std::string problem;
    if (call(*library, problem))
      continue;
    message += message.empty() ? "" : "\n";
    message += problem;
  }
  return message.empty();
}

bool RoutineLibraries::prepare(const rg_gpu_program &program,
                               const DriverApi &driver, std::string &message) {
  return callAll(message, [&](DeviceLibrary &library, std::string &problem) {
    return library.prepare(program, driver, problem);
  });
}

bool RoutineLibraries::chooseAlgorithms(const std::string *given,
                                        std::string &message) {
  return callAll(message, [&](DeviceLibrary &library, std::string &problem) {
    return library.chooseAlgorithms(given, problem);
  });
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

bool regather::runtime::chooseAlgorithmsTogether(DeviceLibrary &library,
                                                 RankStore &store, int rank,
                                                 std::string &message) {
  static const std::string key = "algorithms";
  if (rank == 0)
    return library.chooseAlgorithms(nullptr, message) &&
           store.set(key, library.printAlgorithms(), message);
  std::string given;
  return store.get(key, /*owner=*/0, given, message) &&
         library.chooseAlgorithms(&given, message);
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
