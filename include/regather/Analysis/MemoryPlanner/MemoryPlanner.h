//===- MemoryPlanner.h - Where buffers lie in one arena ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Packs buffers whose lifetimes are known into one arena, at offsets that never
// change. Quick orders come first; where they leave a gap to the liveness peak,
// an exact search and then a local one try to close it.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_MEMORYPLANNER_MEMORYPLANNER_H
#define REGATHER_ANALYSIS_MEMORYPLANNER_MEMORYPLANNER_H

#include "regather/Support/Result.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace regather {

/// One buffer to place. Buffers are known by their index.
struct BufferRequest {
  /// In bytes. A buffer of size zero gets a place but needs no memory.
  uint64_t size = 0;
  /// Of its offset, in bytes; a power of two.
  uint64_t alignment = 1;
  /// The steps `[begin, end)` in which its contents matter.
  uint64_t begin = 0;
  uint64_t end = 0;
  /// Where it has to lie, if that is not for the planner to decide: a parameter
  /// whose place in the flat buffer of its unit is known outside.
  std::optional<uint64_t> fixedOffset;
};

/// `result` may take the place of `operand`, which dies in the very step that
/// first writes `result`, although both are live in that step.
struct InPlaceHint {
  uint32_t result = 0;
  uint32_t operand = 0;
};

struct MemoryPlanRequest {
  std::vector<BufferRequest> buffers;
  /// Buffers that have to lie at the same place. A group is live from its first
  /// begin to its last end, and its members do not conflict with each other.
  std::vector<std::vector<uint32_t>> groups;
  /// Taken where both have the same size; the others are left alone.
  std::vector<InPlaceHint> inPlace;
};

struct MemoryPlannerOptions {
  /// Work that may be spent after the quick orders. One unit takes a few
  /// nanoseconds; the result depends on it but not on the machine.
  uint64_t effort = 100'000'000;
  /// Stops earlier after so long. The result then depends on the machine.
  std::optional<std::chrono::milliseconds> timeLimit;
  /// Stops as soon as the plan fits into so many bytes. Without it, only a plan
  /// at the lower bound is good enough.
  std::optional<uint64_t> capacity;
};

struct MemoryPlan {
  /// By buffer.
  std::vector<uint64_t> offsets;
  /// Size of the arena.
  uint64_t peak = 0;
  /// The most bytes live at once, or the end of the last fixed buffer: no plan
  /// needs less.
  uint64_t lowerBound = 0;
  /// No plan needs less than `peak`: it is the lower bound, or the search has
  /// shown that nothing below fits.
  bool isOptimal = false;
  /// What found the plan: "first fit by size", "canonical search", ...
  llvm::StringRef strategy;
  std::chrono::duration<double> time{0};
};

/// Places all buffers. Fails, naming the buffers, if fixed ones overlap, if a
/// group cannot be at one place, if a lifetime or alignment is malformed, or if
/// sizes are beyond what can be added up.
///
/// The result is a function of the request and the options alone, unless there
/// is a time limit.
Result<MemoryPlan>
planMemory(const MemoryPlanRequest &request,
           const MemoryPlannerOptions &options = MemoryPlannerOptions());

} // namespace regather

#endif // REGATHER_ANALYSIS_MEMORYPLANNER_MEMORYPLANNER_H
