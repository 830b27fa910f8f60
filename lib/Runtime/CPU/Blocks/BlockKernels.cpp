//===- BlockKernels.cpp - GEMMs of packed blocks --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockKernels.h"

#include <cstdlib>
#include <cstring>
#include <initializer_list>

using namespace regather::runtime;

const BlockKernels &regather::runtime::getBlockKernels() {
  static const BlockKernels &chosen = []() -> const BlockKernels & {
    const char *limit = getenv("REGATHER_INSTRUCTION_SET");
    for (const BlockKernels *kernels : {getAVX512Kernels(), getAVX2Kernels()})
      if (kernels && (!limit || !*limit || strcmp(limit, kernels->name) == 0))
        return *kernels;
    return *getPlainKernels();
  }();
  return chosen;
}
