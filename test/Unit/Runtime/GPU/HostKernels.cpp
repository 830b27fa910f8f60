//===- HostKernels.cpp - Kernels that the stand-in driver runs ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// An image of the kind RG_GPU_IMAGE_HOST for tests of the runtime. Kernels
// compute on vectors of i64, one element in each block.
//
//===----------------------------------------------------------------------===//

#include "StandIn/Driver/StandInDevice.h"

using regather::runtime::HostKernel;

static int64_t *getVector(uint64_t address) {
  return reinterpret_cast<int64_t *>(address);
}

/// (a, b) -> a + b.
static int32_t add(const uint64_t *addresses, int64_t blocks, int64_t threads,
                   int64_t dynamicSharedBytes) {
  for (int64_t i = 0; i < blocks; ++i)
    getVector(addresses[2])[i] =
        getVector(addresses[0])[i] + getVector(addresses[1])[i];
  return 0;
}

/// (a), scratch -> scratch = 2 a, for `plusScratch`.
static int32_t twice(const uint64_t *addresses, int64_t blocks, int64_t threads,
                     int64_t dynamicSharedBytes) {
  for (int64_t i = 0; i < blocks; ++i)
    getVector(addresses[2])[i] = 2 * getVector(addresses[0])[i];
  return 0;
}

/// (a), scratch -> a + scratch.
static int32_t plusScratch(const uint64_t *addresses, int64_t blocks,
                           int64_t threads, int64_t dynamicSharedBytes) {
  for (int64_t i = 0; i < blocks; ++i)
    getVector(addresses[1])[i] =
        getVector(addresses[0])[i] + getVector(addresses[2])[i];
  return 0;
}

static int32_t failAlways(const uint64_t *addresses, int64_t blocks,
                          int64_t threads, int64_t dynamicSharedBytes) {
  return 1;
}

// A symbol of the C interface.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" const HostKernel regather_host_kernels[] = {
    {"add", add, 3},
    {"twice", twice, 3},
    {"plus_scratch", plusScratch, 3},
    {"fail", failAlways, 0},
    {nullptr, nullptr, 0}};
