//===- GpuStepExecutable.cpp - A step on a GPU ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/NativeEngine/GpuStepExecutable.h"

#include <unordered_map>

using namespace regather;

GpuStepExecutable::GpuStepExecutable(CompiledGpuStep compiled,
                                     const StepSignature &signature,
                                     const Options &options)
    : context(options.context), step(std::move(compiled)), tables(step),
      arguments(signature.arguments), device(options.device),
      owner(options.owner) {
  for (auto [i, result] : llvm::enumerate(signature.results)) {
    bool isUpdate = result.role == Role::Update;
    updates.push_back(isUpdate ? static_cast<int64_t>(result.argument) : -1);
    if (!isUpdate)
      continue;
    updatingResults.push_back(static_cast<int64_t>(i));
    updatedArguments.push_back(updates.back());
  }
}

GpuStepExecutable::~GpuStepExecutable() { rg_gpu_executor_destroy(executor); }

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

/// Where the arguments lie that the owner has; 0 for others.
Result<std::vector<uint64_t>> GpuStepExecutable::findAddresses() const {
  std::vector<uint64_t> addresses(arguments.size());
  if (!owner)
    return addresses;
  std::unordered_map<std::string, int64_t> known;
  for (auto [i, argument] : llvm::enumerate(owner->arguments))
    if (argument.role != Role::Input)
      known[argument.name] = static_cast<int64_t>(i);
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    auto found = known.find(argument.name);
    if (argument.role == Role::Input || found == known.end())
      continue;
    const StepValue &other = owner->arguments[found->second];
    if (argument.elementType != other.elementType ||
        argument.localShape != other.localShape ||
        getProgram().arguments[i].on_host !=
            owner->getProgram().arguments[found->second].on_host)
      return Failure("'" + argument.name +
                     "' cannot lie in the memory of the other step, where its "
                     "type, its shape or its place differs");
    addresses[i] = rg_gpu_executor_argument_address(owner->executor, /*rank=*/0,
                                                    found->second);
  }
  return addresses;
}

Result<std::shared_ptr<GpuStepExecutable>>
GpuStepExecutable::create(CompiledGpuStep compiled,
                          const StepSignature &signature,
                          const Options &options) {
  if (options.owner && options.owner->device != options.device)
    return Failure("the step runs on device " + std::to_string(options.device) +
                   ", but the memory of its arguments is on device " +
                   std::to_string(options.owner->device));
  std::shared_ptr<GpuStepExecutable> made(
      new GpuStepExecutable(std::move(compiled), signature, options));
  Result<std::vector<uint64_t>> addresses = made->findAddresses();
  if (!addresses)
    return addresses.getFailure();
  rg_gpu_executor_options executor = {};
  executor.device = options.device;
  executor.ranks = 1;
  executor.store = options.store;
  executor.first_timeout_seconds = executor.timeout_seconds =
      executor.setup_timeout_seconds = options.timeoutSeconds;
  executor.argument_addresses = addresses->data();
  if (rg_gpu_executor_create(&made->tables.get(), &executor, &made->executor) !=
      RG_OK)
    return Failure(rg_gpu_executor_error(made->executor));
  return made;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// With what the step was doing, if it has failed in its middle.
Failure GpuStepExecutable::check(rg_status status) {
  if (status == RG_OK)
    return Failure();
  std::string message = rg_gpu_executor_error(executor);
  rg_failure failure = rg_gpu_executor_failure(executor);
  const char *text =
      failure.instruction >= 0
          ? getProgram().instructions[failure.instruction].description
          : nullptr;
  // A collective that is not done is in the message already.
  if (text && message.find(text) == std::string::npos)
    message += std::string(", in ") + text;
  return Failure("the step stopped: " + message, status);
}

Failure GpuStepExecutable::write(int64_t argument, const void *data,
                                 bool isOnDevice) {
  if (!rg_value_bytes(&getProgram().arguments[argument]))
    return Failure();
  std::lock_guard<std::mutex> lock(running);
  return check(
      isOnDevice
          ? rg_gpu_executor_take(executor, /*rank=*/0, argument,
                                 reinterpret_cast<uintptr_t>(data))
          : rg_gpu_executor_upload(executor, /*rank=*/0, argument, data));
}

Failure GpuStepExecutable::read(int64_t argument, void *data) {
  if (!rg_value_bytes(&getProgram().arguments[argument]))
    return Failure();
  std::lock_guard<std::mutex> lock(running);
  return check(
      rg_gpu_executor_download_argument(executor, /*rank=*/0, argument, data));
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// Those that the caller has memory for.
static std::vector<rg_gpu_host_value> listGiven(void *const *values,
                                                int64_t count) {
  std::vector<rg_gpu_host_value> given;
  for (int64_t i = 0; i < count; ++i)
    if (values[i])
      given.push_back({i, values[i]});
  return given;
}

Failure GpuStepExecutable::run(void *const *argumentValues,
                               void *const *resultValues) {
  const rg_program &program = getProgram();
  std::vector<rg_gpu_host_value> given =
      listGiven(argumentValues, program.argument_count);
  std::vector<rg_gpu_host_value> wanted =
      listGiven(resultValues, program.result_count);
  rg_gpu_copies copies = {};
  copies.argument_count = static_cast<int64_t>(given.size());
  copies.arguments = given.data();
  copies.update_count = static_cast<int64_t>(updatingResults.size());
  copies.updates = updatingResults.data();
  copies.updated = updatedArguments.data();
  copies.result_count = static_cast<int64_t>(wanted.size());
  copies.results = wanted.data();
  std::lock_guard<std::mutex> lock(running);
  return check(rg_gpu_executor_run_with(executor, &copies));
}
