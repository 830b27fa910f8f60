//===- BlockKernels.cpp - GEMMs of packed blocks --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockKernels.h"

#include "regather/Runtime/Runtime.h"

#include <cstdlib>
#include <cstring>
#include <initializer_list>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

using namespace regather::runtime;

/// True if REGATHER_INSTRUCTION_SET allows the kernels of this name.
static bool isAllowed(const char *name) {
  const char *limit = getenv("REGATHER_INSTRUCTION_SET");
  // Pairs of bf16 are what there is besides AVX-512.
  return !limit || !*limit || strcmp(limit, name) == 0 ||
         (strcmp(limit, "avx512_bf16") == 0 && strcmp(name, "avx512") == 0);
}

const BlockKernels &regather::runtime::getBlockKernels() {
  static const BlockKernels &chosen = []() -> const BlockKernels & {
    for (const BlockKernels *kernels : {getAVX512Kernels(), getAVX2Kernels()})
      if (kernels && isAllowed(kernels->name))
        return *kernels;
    return *getPlainKernels();
  }();
  return chosen;
}

/// True if the processor multiplies tiles of bf16.
static bool hasTiles() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned amxBF16 = 1u << 22;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & amxBF16);
#else
  return false;
#endif
}

bool regather::runtime::hasPairsOfBF16() {
  static const bool chosen =
      getPairKernels(RG_BF16).positions == 2 && !hasTiles();
  return chosen;
}

const BlockKernels &regather::runtime::getPairKernels(int32_t dtype) {
  const BlockKernels *kernels =
      dtype == RG_BF16 ? getAVX512BF16Kernels() : nullptr;
  return kernels && isAllowed(kernels->name) ? *kernels : getBlockKernels();
}

const BlockKernels &regather::runtime::getBlockKernels(int32_t dtype) {
  return dtype == RG_BF16 && hasPairsOfBF16() ? *getAVX512BF16Kernels()
                                              : getBlockKernels();
}
