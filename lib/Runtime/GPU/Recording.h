//===- Recording.h - Calls as a stand-in driver sees them -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A machine without a GPU runs the same runtime on libraries that stand in for
// the vendor's (test/StandIn): device memory is host
// memory, and every call is written to the file that the environment variable
// REGATHER_RECORD names, one JSON object in a line:
//
//   {"call": "cuLaunchKernel", "rank": 0, "stream": 3, "instruction": 17,
//    "kernel": "k_f00d", "reads": [[address, bytes], ...],
//    "writes": [[address, bytes], ...], "scratch": [[address, bytes]]}
//
// `stream`, `event`, `capture`, `graph`, `executable` and `comm` are small
// numbers in the order of their creation, from 1 on; addresses are numbers; and
// each call has its own further fields. What is enqueued on a stream that is
// captured names the `capture`, whose end names the `graph`, from which an
// `executable` is made, which launches name. A call that failed has its
// `result` and the `problem`. The order of lines is the order in which calls
// began. What a kernel or a library routine reads and writes cannot be seen
// from its pointers alone: the runtime says it before the call, through
// `regather_annotate_call`, which only stand-ins export.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_RECORDING_H
#define REGATHER_LIB_RUNTIME_GPU_RECORDING_H

#include "GPU/Driver/DriverApi.h"

namespace regather::runtime {

/// Bytes of the device.
struct DeviceRange {
  CuAddress address;
  uint64_t bytes;
};

/// What the following calls of this thread belong to.
struct CallAnnotation {
  int32_t rank;
  /// Number in the program; -1 outside of a step.
  int64_t instruction;
  /// As in rg_instruction; may be null.
  const char *description;
  const DeviceRange *reads;
  int64_t readCount;
  const DeviceRange *writes;
  int64_t writeCount;
  /// Memory for intermediate values of a kernel; no bytes if it has none.
  DeviceRange scratch = {0, 0};
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_RECORDING_H
