//===- PlanRunner.cpp - A rank's own work in collectives ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanRunner.h"

#include "ReductionKernel.h"

#include <algorithm>

using namespace regather::runtime;

/// CUmemorytype of memory of a device.
static constexpr unsigned kDeviceMemory = 2;

PlanRunner::~PlanRunner() {
  if (module)
    driver.cuModuleUnload(module);
}

bool PlanRunner::check(CuResult result, const char *what,
                       std::string &message) const {
  if (result == kCuSuccess)
    return true;
  message = std::string(what) + ": " + driver.describe(result);
  return false;
}

bool PlanRunner::prepare(const CollectivePlan &plan, std::string &message) {
  for (const PlanPhase &phase : plan.phases)
    for (const PlanReduction &reduction : phase.reductions) {
      if (!module && !driver.loadModule(writeReductionKernels().c_str(), module,
                                        message)) {
        message = "cannot load the kernels for reductions: " + message;
        return false;
      }
      std::string name = getReductionKernelName(reduction.type);
      auto [place, isNew] = functions.try_emplace(name);
      if (isNew &&
          !check(
              driver.cuModuleGetFunction(&place->second, module, name.c_str()),
              ("cannot find the kernel '" + name + "'").c_str(), message))
        return false;
    }
  return true;
}

bool PlanRunner::reduce(const PlanReduction &reduction, int64_t ranks,
                        const PlanMemory &memory, CuStream stream,
                        const WorkLabel &label, std::string &message) {
  uint64_t target = memory.get(reduction.target);
  uint64_t first = memory.get(reduction.sources);
  auto stride = uint64_t(reduction.stride);
  auto contributions = uint64_t(ranks);
  auto count = uint64_t(reduction.count);
  void *arguments[] = {&target, &first, &stride, &contributions, &count};
  WorkMemory touched;
  if (NvtxRange::isObserved()) {
    uint64_t bytes = count * rg_dtype_size(reduction.type.dtype);
    for (uint64_t rank = 0; rank < contributions; ++rank)
      touched.reads.push_back({first + rank * stride, bytes});
    touched.writes.push_back({target, bytes});
  }
  NvtxRange range(label, touched);
  int64_t blocks =
      std::min((reduction.count + kReductionThreads - 1) / kReductionThreads,
               kMaxReductionBlocks);
  CuFunction function = functions.at(getReductionKernelName(reduction.type));
  return check(driver.cuLaunchKernel(function, unsigned(blocks), 1, 1,
                                     kReductionThreads, 1, 1, 0, stream,
                                     arguments, nullptr),
               "cannot launch a reduction", message);
}

bool PlanRunner::copyRows(const PlanCopy &copy, CuAddress target,
                          CuAddress source, CuStream stream,
                          std::string &message) {
  for (int64_t row = 0; row < copy.rows; ++row)
    if (!check(driver.cuMemcpyDtoDAsync_v2(
                   target + CuAddress(row * copy.targetPitch),
                   source + CuAddress(row * copy.sourcePitch),
                   size_t(copy.width), stream),
               "cannot copy", message))
      return false;
  return true;
}

bool PlanRunner::copy(const PlanCopy &copy, const PlanMemory &memory,
                      CuStream stream, std::string &message) {
  CuAddress target = memory.get(copy.target);
  CuAddress source = memory.get(copy.source);
  bool isDense = copy.rows == 1 || (copy.width == copy.targetPitch &&
                                    copy.width == copy.sourcePitch);
  // A shard that lies in its place already.
  if (isDense && target == source)
    return true;
  if (isDense)
    return check(driver.cuMemcpyDtoDAsync_v2(
                     target, source, size_t(copy.width * copy.rows), stream),
                 "cannot copy", message);
  if (std::max(copy.sourcePitch, copy.targetPitch) > kCuMaxPitch)
    return copyRows(copy, target, source, stream, message);
  CuCopy2D parameters = {};
  parameters.srcMemoryType = parameters.dstMemoryType = kDeviceMemory;
  parameters.srcDevice = source;
  parameters.srcPitch = size_t(copy.sourcePitch);
  parameters.dstDevice = target;
  parameters.dstPitch = size_t(copy.targetPitch);
  parameters.widthInBytes = size_t(copy.width);
  parameters.height = size_t(copy.rows);
  return check(driver.cuMemcpy2DAsync_v2(&parameters, stream), "cannot copy",
               message);
}

bool PlanRunner::run(const PlanPhase &phase, int64_t ranks,
                     const PlanMemory &memory, CuStream stream,
                     const WorkLabel &label, std::string &message) {
  for (const PlanReduction &reduction : phase.reductions)
    if (!reduce(reduction, ranks, memory, stream, label, message))
      return false;
  NvtxRange range(label);
  for (const PlanClear &clear : phase.clears)
    if (!check(driver.cuMemsetD8Async(memory.get(clear.target), 0,
                                      size_t(clear.bytes), stream),
               "cannot clear", message))
      return false;
  for (const PlanCopy &item : phase.copies)
    if (!copy(item, memory, stream, message))
      return false;
  return true;
}
