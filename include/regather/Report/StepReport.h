//===- StepReport.h - What is known of a compiled step ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What a report shows, apart from how: the tools collect it from a module, and
// the sections of a page print it. Bytes are those of one rank.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_REPORT_STEPREPORT_H
#define REGATHER_REPORT_STEPREPORT_H

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace regather::report {

/// What was asked of the step; empty texts if nothing was.
struct Request {
  std::string policy, reshard, recompute, bucket, schedule, optimizer;
};

/// The step as a whole.
struct Overview {
  std::string file, entry;
  /// Such as "dp = 8"; empty without a mesh.
  std::string mesh;
  int64_t ranks = 1;
  int64_t parameters = 0, parameterElements = 0;
  int64_t parameterBytes = 0, parameterBytesPerRank = 0;
  int64_t ops = 0;
  double flops = 0;
};

/// A parameter, or flat buffer of several, that forward gathers.
struct GatheredParameter {
  std::string name, module;
  /// The tensors that a flat buffer holds.
  std::vector<std::string> members;
  int64_t shardBytes = 0, gatheredBytes = 0;
  /// What of it lives on from forward to backward.
  int64_t keptBytes = 0;
  /// Bytes that a rank receives to gather it once more.
  int64_t regatheredBytes = 0;
  /// "kept", "gathered again" or "released", and why.
  std::string decision, reason;
};

/// A value that forward hands to backward.
struct SavedValue {
  /// Name in the captured graph.
  std::string id;
  std::string op, module, type, reason;
  int64_t bytes = 0;
  /// Arithmetic that saving it avoids.
  double flops = 0;
};

/// An operation of forward that backward carries out once more.
struct RecomputedOp {
  std::string id, op, module;
  /// Size of what it computes.
  int64_t bytes = 0;
  double flops = 0;
};

/// What lives on from forward to backward.
struct Boundary {
  std::vector<GatheredParameter> parameters;
  std::vector<SavedValue> saved;
  std::vector<RecomputedOp> recomputed;
  int64_t savedBytes = 0, gatheredBytes = 0;
  double recomputedFlops = 0;
};

/// Collectives that differ in none of the texts.
struct CollectiveGroup {
  std::string kind, phase, axes;
  int64_t ranks = 1, ops = 0, tensors = 0, bytes = 0;
};

/// What bytes are used for.
enum class MemoryUse : uint8_t {
  Arguments,
  Gathered,
  Saved,
  Gradients,
  Temporary
};
inline constexpr unsigned kNumMemoryUses = 5;

/// A run of instructions of one phase.
struct PhaseSpan {
  std::string name;
  uint64_t begin = 0, end = 0;
};

/// A buffer of the program.
struct LiveBuffer {
  /// What writes it first.
  std::string op, module, phase;
  MemoryUse use = MemoryUse::Temporary;
  int64_t bytes = 0;
};

/// Bytes in use over a program.
struct MemoryCurve {
  /// By instruction, and by MemoryUse.
  std::array<std::vector<int64_t>, kNumMemoryUses> bytes;
  std::vector<PhaseSpan> phases;
  int64_t argumentBytes = 0;
  /// The arena as it is planned.
  int64_t arenaBytes = 0;
  /// Where most bytes are in use, and the largest buffers there.
  uint64_t peak = 0;
  std::vector<LiveBuffer> largest;

  uint64_t getLength() const { return bytes[0].size(); }
  int64_t getTotal(uint64_t instruction) const {
    int64_t total = 0;
    for (const std::vector<int64_t> &use : bytes)
      total += use[instruction];
    return total;
  }
  int64_t getPeakBytes() const { return getLength() ? getTotal(peak) : 0; }
};

/// One state of the step.
struct StepState {
  Boundary boundary;
  std::vector<CollectiveGroup> collectives;
  MemoryCurve memory;
};

/// A step sharded but undecided, and as it is run.
struct StepReport {
  Request request;
  Overview overview;
  StepState before, after;
};

} // namespace regather::report

#endif // REGATHER_REPORT_STEPREPORT_H
