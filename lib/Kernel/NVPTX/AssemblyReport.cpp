//===- AssemblyReport.cpp - What machine code takes -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/NVPTX/AssemblyReport.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace regather;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Report
//===----------------------------------------------------------------------===//

/// The number before `unit` in a line such as "Used 32 registers, 768 bytes
/// smem"; 0 if there is none.
static int64_t getNumberOf(StringRef line, StringRef unit) {
  size_t end = line.find(unit);
  if (end == StringRef::npos)
    return 0;
  StringRef digits = line.take_front(end).rtrim();
  digits = digits.take_back(digits.size() -
                            (digits.find_last_not_of("0123456789") + 1));
  int64_t number = 0;
  (void)digits.getAsInteger(10, number);
  return number;
}

nvptx::AssemblyReport nvptx::parseAssemblyReport(StringRef text) {
  AssemblyReport report;
  StringRef symbol;
  for (StringRef line : llvm::split(text, '\n')) {
    if (line.contains("Compiling entry function '")) {
      symbol = line.split('\'').second.split('\'').first;
      report.try_emplace(symbol);
    } else if (!symbol.empty() && line.contains("bytes spill stores")) {
      report[symbol].spillBytes = getNumberOf(line, "bytes spill stores");
    } else if (!symbol.empty() && line.contains("registers")) {
      report[symbol].registers = getNumberOf(line, "registers");
      report[symbol].sharedBytes = getNumberOf(line, "bytes smem");
    }
  }
  return report;
}

//===----------------------------------------------------------------------===//
// Occupancy
//===----------------------------------------------------------------------===//

/// What all architectures that code is made for have in common. A
/// multiprocessor has four parts, each with registers for its own warps.
static constexpr int64_t kResidentThreads = 2048;
static constexpr int64_t kMaxResidentBlocks = 32;
static constexpr int64_t kThreadsOfWarp = 32;
static constexpr int64_t kParts = 4;
static constexpr int64_t kRegistersOfPart = 16 * 1024;

/// Units in which the registers of a thread and the shared memory of a block
/// are allocated, and the shared memory that the system takes for each block.
static constexpr int64_t kRegisterUnit = 8;
static constexpr int64_t kSharedUnit = 128;
static constexpr int64_t kSystemSharedBytes = 1024;

/// Shared memory of all blocks of a multiprocessor.
static int64_t getSharedBytes(const nvptx::GpuArchitecture &architecture) {
  return (architecture.getNumber() == 80 ? 164 : 228) * 1024;
}

int64_t nvptx::countResidentBlocks(const GpuArchitecture &architecture,
                                   const Launch &launch,
                                   const EntryResources &resources) {
  auto roundUp = [](int64_t number, int64_t unit) {
    return static_cast<int64_t>(llvm::alignTo(number, unit));
  };
  auto warps = static_cast<int64_t>(
      llvm::divideCeil(std::max<int64_t>(launch.threads, 1), kThreadsOfWarp));
  int64_t blocks =
      std::min(kMaxResidentBlocks, kResidentThreads / (warps * kThreadsOfWarp));
  int64_t registersOfWarp =
      kThreadsOfWarp *
      roundUp(std::max<int64_t>(resources.registers, 1), kRegisterUnit);
  blocks =
      std::min(blocks, kRegistersOfPart / registersOfWarp * kParts / warps);
  int64_t shared =
      roundUp(resources.sharedBytes + launch.dynamicSharedBytes, kSharedUnit) +
      kSystemSharedBytes;
  return std::min(blocks, getSharedBytes(architecture) / shared);
}
