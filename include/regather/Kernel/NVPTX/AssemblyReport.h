//===- AssemblyReport.h - What machine code takes ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_NVPTX_ASSEMBLYREPORT_H
#define REGATHER_KERNEL_NVPTX_ASSEMBLYREPORT_H

#include "regather/Kernel/NVPTX/GpuArchitecture.h"
#include "regather/Kernel/NVPTX/LaunchPlan.h"

#include "llvm/ADT/StringMap.h"

namespace regather::nvptx {

/// What the machine code of an entry takes.
struct EntryResources {
  /// Of a thread.
  int64_t registers = 0;
  /// Memory of a thread for what has no register.
  int64_t spillBytes = 0;
  /// Shared memory that the code declares.
  int64_t sharedBytes = 0;
};

/// By symbols.
using AssemblyReport = llvm::StringMap<EntryResources>;

/// Reads what `ptxas -v` says. Lines that say something else are left out.
AssemblyReport parseAssemblyReport(llvm::StringRef text);

/// How many blocks of a launch a multiprocessor of the architecture has room
/// for at a time, by their threads, registers and shared memory.
int64_t countResidentBlocks(const GpuArchitecture &architecture,
                            const Launch &launch,
                            const EntryResources &resources);

} // namespace regather::nvptx

#endif // REGATHER_KERNEL_NVPTX_ASSEMBLYREPORT_H
