//===- MemoryCounter.h - Bytes that a rank holds ----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_EXECUTION_NATIVE_MEMORYCOUNTER_H
#define REGATHER_LIB_EXECUTION_NATIVE_MEMORYCOUNTER_H

#include "regather/Execution/AnalyzeStep.h"

#include <algorithm>

namespace regather::native {

/// Counts the tensors of one rank: arguments, and all that it computes or
/// receives while something may still read it. What a kernel or a library
/// allocates for itself is not counted.
class MemoryCounter {
public:
  /// From now on the rank holds `tensor`, whose bytes are not counted yet.
  HostTensor hold(HostTensor tensor) {
    live += tensor.getNumBytes();
    peak = std::max(peak, live);
    return tensor;
  }

  /// Empties `tensor`. Bytes that another tensor shares stay counted, and so do
  /// those of arguments, because the caller shares them.
  void release(HostTensor &tensor) {
    if (tensor.isUnique())
      live -= tensor.getNumBytes();
    tensor = HostTensor();
  }

  int64_t getPeak() const { return peak; }

private:
  int64_t live = 0;
  int64_t peak = 0;
};

} // namespace regather::native

#endif // REGATHER_LIB_EXECUTION_NATIVE_MEMORYCOUNTER_H
