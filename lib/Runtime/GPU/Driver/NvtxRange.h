//===- NvtxRange.h - What enqueued work belongs to --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls of the driver and of libraries are made inside of ranges of NVTX, so
// that a profiler such as Nsight Systems shows which operation of the step each
// kernel, copy and collective belongs to. A range is named by the operation,
// its place in the source and its module, in the domain `regather`. It has an
// extended payload of four arrays of 64 bits: the rank and the number of the
// instruction; then, as address and bytes by turns, what the work reads, what
// it writes, and its memory for intermediate values.
//
// The tool is the library that the environment variable NVTX_INJECTION64_PATH
// names, which profilers set. Without one, a range costs the test of a pointer.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_DRIVER_NVTXRANGE_H
#define REGATHER_LIB_RUNTIME_GPU_DRIVER_NVTXRANGE_H

#include "DriverApi.h"

#include <vector>

namespace regather::runtime {

/// What enqueued work belongs to.
struct WorkLabel {
  int32_t rank;
  /// Number in the program; -1 outside of it.
  int64_t instruction;
  /// As in rg_instruction; may be null.
  const char *description;
};

/// Memory of the device that enqueued work touches.
struct WorkMemory {
  std::vector<DeviceRange> reads, writes;
  /// For intermediate values; empty if there are none.
  std::vector<DeviceRange> scratch;
};

/// A range around the calls that a thread makes while it lives. Ranges of a
/// thread nest.
class NvtxRange {
public:
  /// True if there is a tool. Without one, nobody needs the memory.
  static bool isObserved();

  explicit NvtxRange(const WorkLabel &label, const WorkMemory &memory = {});
  NvtxRange(const NvtxRange &) = delete;
  NvtxRange &operator=(const NvtxRange &) = delete;
  ~NvtxRange();
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_DRIVER_NVTXRANGE_H
