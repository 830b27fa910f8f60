//===- LaunchShape.h - How a kernel is launched -----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TARGET_NVPTX_LAUNCHSHAPE_H
#define REGATHER_TARGET_NVPTX_LAUNCHSHAPE_H

#include <cstdint>

namespace regather::nvptx {

/// How a kernel is launched. Grids and blocks have one dimension. The arguments
/// of the entry are pointers to its arguments and results, aligned to 16 bytes,
/// and to scratch memory if it needs some.
struct LaunchShape {
  int64_t blocks = 1;
  int64_t threads = 1;
  /// Shared memory that the launch asks for, beside what the code declares.
  int64_t dynamicSharedBytes = 0;
  /// Device memory that nothing else uses while the kernel runs.
  int64_t scratchBytes = 0;
};

} // namespace regather::nvptx

#endif // REGATHER_TARGET_NVPTX_LAUNCHSHAPE_H
