//===- CollectivePlan.h - How a collective runs on devices ------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What one rank does for a collective of Program.h, made once from the shapes:
//
//   for each phase: reduce what arrived; clear; copy; exchange with the others
//
// A gather or a scatter along the outermost dimension is one exchange between
// the buffers themselves. Along another dimension the shards are packed into
// staging memory before the exchange and unpacked from it after, by copies of
// two dimensions. A reduction in rank order sends piece j of every input to
// position j, which adds the n pieces; large ones go in rounds, so that staging
// memory is bounded.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_COMMUNICATION_COLLECTIVEPLAN_H
#define REGATHER_LIB_RUNTIME_COMMUNICATION_COLLECTIVEPLAN_H

#include "Collective.h"
#include "Reduction.h"

#include <vector>

namespace regather::runtime {

enum class PlanSpace { Input, Output, Staging };

/// A byte of a member's input or output, or of the staging memory.
struct PlanAddress {
  PlanSpace space = PlanSpace::Staging;
  int64_t member = 0;
  int64_t offset = 0;
};

/// `rows` runs of `width` bytes.
struct PlanCopy {
  PlanAddress target, source;
  int64_t targetPitch, sourcePitch, width, rows;
};

struct PlanClear {
  PlanAddress target;
  int64_t bytes;
};

/// Combines `count` elements of each of the ranks' contributions, which lie
/// `stride` bytes apart, in rank order.
struct PlanReduction {
  PlanAddress target, sources;
  int64_t stride, count;
  ReductionType type;
};

/// Bytes from or to a position of the group. Those between two positions match
/// in their order.
struct PlanMessage {
  int64_t peer;
  PlanAddress address;
  int64_t bytes;
};

/// A routine of the library: all_gather, reduce_scatter, all_reduce or
/// broadcast on consecutive elements. `count` is what all_gather sends and
/// reduce_scatter receives.
struct PlanCall {
  rg_kind kind;
  PlanAddress source, target;
  int64_t count;
  rg_dtype dtype;
  rg_reduction reduction;
  int64_t root;
};

struct PlanPhase {
  std::vector<PlanReduction> reductions;
  std::vector<PlanClear> clears;
  std::vector<PlanCopy> copies;
  /// The exchange: its parts may run at once.
  std::vector<PlanMessage> sends, receives;
  std::vector<PlanCall> calls;

  bool hasExchange() const {
    return !sends.empty() || !receives.empty() || !calls.empty();
  }
};

struct CollectivePlan {
  std::vector<PlanPhase> phases;
  int64_t stagingBytes = 0;
};

struct PlanOptions {
  /// Of the group, and this rank's position in it.
  int64_t ranks = 1;
  int64_t position = 0;
  /// The exchange may use the library's routines, and not only messages.
  bool useLibrary = false;
  /// Reductions that the library has may run in its order.
  bool useLibraryOrder = false;
  /// Most bytes for contributions to a reduction that have arrived.
  int64_t reductionBytes = int64_t(64) << 20;
};

/// True if the library has the reduction with the meaning that Runtime.h gives
/// it, but for the order of sums.
bool hasLibraryReduction(const Collective &collective, rg_dtype dtype);

/// Plans a checked collective. Linear in the number of members times ranks.
CollectivePlan planCollective(const Collective &collective,
                              const PlanOptions &options);

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_COMMUNICATION_COLLECTIVEPLAN_H
