//===- MachineRates.h - What a machine reaches ---------------- -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_PROFILE_MACHINERATES_H
#define REGATHER_EXECUTION_PROFILE_MACHINERATES_H

#include <cstdint>
#include <string>

namespace regather {

/// What this machine reaches on a number of threads; 0 for what could not be
/// measured.
struct MachineRates {
  std::string processor;
  int32_t threads = 0;
  /// Arithmetic operations per second of a large GEMM of the runtime, on f32
  /// and on bf16.
  double f32Flops = 0, bf16Flops = 0;
  /// Bytes per second that a copy beyond the caches reads and writes.
  double bytesPerSecond = 0;
  /// Where the rates are remembered; empty if they are not.
  std::string file;
};

/// The folder that keeps what was compiled or measured: $REGATHER_CACHE_DIR, or
/// `regather` in the user's cache folder; empty if there is none.
std::string getCacheFolder();

/// The rates that `folder` remembers of a machine with this processor and so
/// many threads; else they are measured, in about a second and 130 MB, and
/// remembered. An empty folder remembers nothing. `warning` says why one that
/// is named could not be written.
MachineRates getMachineRates(const std::string &folder, int32_t threads,
                             std::string &warning);

} // namespace regather

#endif // REGATHER_EXECUTION_PROFILE_MACHINERATES_H
