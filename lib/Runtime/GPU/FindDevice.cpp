//===- FindDevice.cpp - What steps on a GPU can count on ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibraryChoice.h"

#include "CublasLt/CublasLtApi.h"
#include "Driver/GpuDevice.h"
#include "Nccl/NcclApi.h"
#include "Store/LaunchEnvironment.h"

#include "regather/Runtime/GpuExecutor.h"

#include <cstring>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

namespace {
/// What is missing, one line each.
class MissingParts {
public:
  void add(const Failure &failure) {
    if (!failure)
      return;
    text += text.empty() ? "" : "\n";
    text += failure.getMessage();
  }
  bool isEmpty() const { return text.empty(); }
  char *getText() const { return isEmpty() ? nullptr : strdup(text.c_str()); }

private:
  std::string text;
};
} // namespace

Result<int32_t> regather::runtime::chooseDevice(int32_t number) {
  if (number >= 0)
    return number;
  Result<LaunchEnvironment> environment = LaunchEnvironment::read();
  if (!environment)
    return environment.getFailure();
  return environment->localRank;
}

static Failure findDevice(int32_t number, GpuDevice &device) {
  Result<int32_t> chosen = chooseDevice(number);
  if (!chosen)
    return chosen.getFailure();
  return device.open(getChoice(nullptr, kCudaVariable), *chosen,
                     /*isAssigned=*/number < 0);
}

char *rg_gpu_find_device(int32_t number, int32_t needsNccl,
                         rg_gpu_device *found) {
  MissingParts missing;
  GpuDevice device;
  missing.add(findDevice(number, device));
  if (needsNccl)
    missing.add(NcclApi().load(getChoice(nullptr, kNcclVariable)));
  if (missing.isEmpty()) {
    *found = {device.getNumber(), device.getArchitecture()};
    return nullptr;
  }
  // Whether a step needs it is known later. Who installs libraries wants to
  // know of all of them now.
  missing.add(CublasLtApi().find(getChoice(nullptr, kCublasLtVariable)));
  return missing.getText();
}
