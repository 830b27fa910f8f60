//===- StepCopies.cpp - What is copied around a step ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All of it is enqueued on stream 0, which the other streams of a step begin
// and end with, so that the step does not wait for its arguments on the host.
//
//===----------------------------------------------------------------------===//

#include "GpuExecutor.h"

#include "Numeric/RoundUp.h"

using namespace regather::runtime;
using regather::Failure;

/// As DeviceRank aligns the parts of its allocations.
static constexpr int64_t kAlignment = 256;

/// True if a result lies in an argument, of which the step leaves what it has
/// written.
static bool isInArgument(const rg_value &result) {
  return result.slice.space == RG_SPACE_ARGUMENT;
}

static bool isInPlace(const rg_value &result, int64_t argument) {
  return isInArgument(result) && result.slice.index == argument &&
         result.slice.offset == 0;
}

Failure GpuExecutor::checkCopies(const rg_gpu_copies &copies) const {
  bool isKnown = true;
  for (int64_t i = 0; i < copies.argument_count; ++i)
    isKnown = isKnown && hasArgument(copies.arguments[i].number);
  for (int64_t i = 0; i < copies.result_count; ++i)
    isKnown = isKnown && hasResult(copies.results[i].number);
  for (int64_t i = 0; i < copies.update_count; ++i)
    isKnown = isKnown && hasResult(copies.updates[i]) &&
              hasArgument(copies.updated[i]) &&
              rg_value_bytes(&program.results[copies.updates[i]]) ==
                  rg_value_bytes(&program.arguments[copies.updated[i]]);
  if (!isKnown)
    return Failure("there is no such argument or result", RG_ERROR_ARGUMENT);
  bool isOnHost = false;
  for (int64_t i = 0; i < copies.argument_count; ++i)
    isOnHost |= program.arguments[copies.arguments[i].number].on_host != 0;
  for (int64_t i = 0; i < copies.result_count; ++i)
    isOnHost |= program.results[copies.results[i].number].on_host != 0;
  for (int64_t i = 0; i < copies.update_count; ++i) {
    const rg_value &result = program.results[copies.updates[i]];
    isOnHost |= result.on_host != 0 && !isInPlace(result, copies.updated[i]);
  }
  if (isOnHost)
    return Failure("what lies on the host is not copied around a step",
                   RG_ERROR_ARGUMENT);
  bool isEmpty =
      !copies.argument_count && !copies.result_count && !copies.update_count;
  if (isEmpty || numRanks == 1)
    return Failure();
  return Failure("copies around a step are for one rank", RG_ERROR_ARGUMENT);
}

/// Memory for updates that lie in the place of another argument: that argument
/// is perhaps replaced before they are read. Kept from step to step.
Failure GpuExecutor::makeUpdateMemory(const rg_gpu_copies &copies) {
  int64_t bytes = 0;
  for (int64_t i = 0; i < copies.update_count; ++i) {
    const rg_value &result = program.results[copies.updates[i]];
    if (isInArgument(result) && !isInPlace(result, copies.updated[i]))
      bytes += roundUp(result.slice.bytes, kAlignment);
  }
  if (bytes <= updateMemory.getNumBytes())
    return Failure();
  updateMemory = DeviceMemory();
  return updateMemory.allocate(device, bytes);
}

Failure GpuExecutor::copyArguments(const rg_gpu_copies &copies) {
  for (int64_t i = 0; i < copies.argument_count; ++i) {
    const rg_gpu_host_value &value = copies.arguments[i];
    int64_t bytes = rg_value_bytes(&program.arguments[value.number]);
    if (bytes == 0)
      continue;
    if (Failure reason =
            device.check(device.getDriver().cuMemcpyHtoDAsync_v2(
                             ranks[0]->getArgument(value.number), value.data,
                             size_t(bytes), ranks[0]->getStream(0)),
                         "cuMemcpyHtoDAsync"))
      return reason;
  }
  return Failure();
}

Failure GpuExecutor::copyOnDevice(CuAddress target, CuAddress source,
                                  int64_t bytes) {
  if (bytes == 0)
    return Failure();
  return device.check(
      device.getDriver().cuMemcpyDtoDAsync_v2(target, source, size_t(bytes),
                                              ranks[0]->getStream(0)),
      "cuMemcpyDtoDAsync");
}

Failure GpuExecutor::copyUpdates(const rg_gpu_copies &copies) {
  std::vector<CuAddress> sources;
  CuAddress next = updateMemory.getAddress();
  for (int64_t i = 0; i < copies.update_count; ++i) {
    const rg_value &result = program.results[copies.updates[i]];
    sources.push_back(ranks[0]->resolve(result.slice));
    if (!isInArgument(result) || isInPlace(result, copies.updated[i]))
      continue;
    if (Failure reason = copyOnDevice(next, sources.back(), result.slice.bytes))
      return reason;
    sources.back() = next;
    next += CuAddress(roundUp(result.slice.bytes, kAlignment));
  }
  for (int64_t i = 0; i < copies.update_count; ++i) {
    const rg_value &result = program.results[copies.updates[i]];
    if (isInPlace(result, copies.updated[i]))
      continue;
    if (Failure reason = copyOnDevice(ranks[0]->getArgument(copies.updated[i]),
                                      sources[size_t(i)], result.slice.bytes))
      return reason;
  }
  return Failure();
}

Failure GpuExecutor::copyResults(const rg_gpu_copies &copies) {
  for (int64_t i = 0; i < copies.result_count; ++i) {
    const rg_gpu_host_value &value = copies.results[i];
    const rg_slice &slice = program.results[value.number].slice;
    if (slice.bytes == 0)
      continue;
    if (Failure reason =
            device.check(device.getDriver().cuMemcpyDtoHAsync_v2(
                             value.data, ranks[0]->resolve(slice),
                             size_t(slice.bytes), ranks[0]->getStream(0)),
                         "cuMemcpyDtoHAsync"))
      return reason;
  }
  return Failure();
}
