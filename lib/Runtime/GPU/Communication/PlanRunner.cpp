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
using regather::Failure;
using regather::Result;

/// CUmemorytype of memory of a device.
static constexpr unsigned kDeviceMemory = 2;

PlanRunner::~PlanRunner() {
  if (module)
    driver.cuModuleUnload(module);
}

Failure PlanRunner::prepare(const CollectivePlan &plan) {
  for (const PlanPhase &phase : plan.phases)
    for (const PlanReduction &reduction : phase.reductions) {
      if (!module) {
        Result<CuModule> loaded =
            driver.loadModule(writeReductionKernels().c_str());
        if (!loaded)
          return Failure("cannot load the kernels for reductions: " +
                             loaded.getMessage(),
                         loaded.getFailure().getCode());
        module = *loaded;
      }
      std::string name = getReductionKernelName(reduction.type);
      auto [place, isNew] = functions.try_emplace(name);
      if (!isNew)
        continue;
      if (Failure failure = driver.check(
              driver.cuModuleGetFunction(&place->second, module, name.c_str()),
              ("cannot find the kernel '" + name + "'").c_str()))
        return failure;
    }
  return Failure();
}

Failure PlanRunner::reduce(const PlanReduction &reduction, int64_t ranks,
                           const PlanMemory &memory, CuStream stream,
                           const WorkLabel &label) {
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
  return driver.check(driver.cuLaunchKernel(function, unsigned(blocks), 1, 1,
                                            kReductionThreads, 1, 1, 0, stream,
                                            arguments, nullptr),
                      "cannot launch a reduction");
}

Failure PlanRunner::copyRows(const PlanCopy &copy, CuAddress target,
                             CuAddress source, CuStream stream) {
  Failure failure;
  for (int64_t row = 0; !failure && row < copy.rows; ++row)
    failure = driver.check(
        driver.cuMemcpyDtoDAsync_v2(target + CuAddress(row * copy.targetPitch),
                                    source + CuAddress(row * copy.sourcePitch),
                                    size_t(copy.width), stream),
        "cannot copy");
  return failure;
}

Failure PlanRunner::copy(const PlanCopy &copy, const PlanMemory &memory,
                         CuStream stream) {
  CuAddress target = memory.get(copy.target);
  CuAddress source = memory.get(copy.source);
  bool isDense = copy.rows == 1 || (copy.width == copy.targetPitch &&
                                    copy.width == copy.sourcePitch);
  // A shard that lies in its place already.
  if (isDense && target == source)
    return Failure();
  if (isDense)
    return driver.check(
        driver.cuMemcpyDtoDAsync_v2(target, source,
                                    size_t(copy.width * copy.rows), stream),
        "cannot copy");
  if (std::max(copy.sourcePitch, copy.targetPitch) > kCuMaxPitch)
    return copyRows(copy, target, source, stream);
  CuCopy2D parameters = {};
  parameters.srcMemoryType = parameters.dstMemoryType = kDeviceMemory;
  parameters.srcDevice = source;
  parameters.srcPitch = size_t(copy.sourcePitch);
  parameters.dstDevice = target;
  parameters.dstPitch = size_t(copy.targetPitch);
  parameters.widthInBytes = size_t(copy.width);
  parameters.height = size_t(copy.rows);
  return driver.check(driver.cuMemcpy2DAsync_v2(&parameters, stream),
                      "cannot copy");
}

Failure PlanRunner::run(const PlanPhase &phase, int64_t ranks,
                        const PlanMemory &memory, CuStream stream,
                        const WorkLabel &label) {
  for (const PlanReduction &reduction : phase.reductions)
    if (Failure failure = reduce(reduction, ranks, memory, stream, label))
      return failure;
  NvtxRange range(label);
  for (const PlanClear &clear : phase.clears)
    if (Failure failure =
            driver.check(driver.cuMemsetD8Async(memory.get(clear.target), 0,
                                                size_t(clear.bytes), stream),
                         "cannot clear"))
      return failure;
  for (const PlanCopy &item : phase.copies)
    if (Failure failure = copy(item, memory, stream))
      return failure;
  return Failure();
}
