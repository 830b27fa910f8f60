//===- KernelsAVX512.cpp - Block kernels for AVX-512 ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockKernels.h"

#ifdef __AVX512F__

#include "LanesAVX512.h"
#include "SoftmaxLoops.h"

using namespace regather::runtime;

const BlockKernels *regather::runtime::getAVX512Kernels() {
  static constexpr auto kernels =
      makeBlockKernels<Lanes, /*numRows=*/14, /*numVectors=*/2>("avx512");
  return __builtin_cpu_supports("avx512f") ? &kernels : nullptr;
}

#else

const regather::runtime::BlockKernels *regather::runtime::getAVX512Kernels() {
  return nullptr;
}

#endif
