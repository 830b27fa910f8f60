//===- BucketChoice.h - Buckets that shorten a schedule ------- -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which collectives start as one is a question of the schedule: one that is
// hidden need not be merged, and one that everything waits for should be small.
// So steps with different buckets are scheduled, and the shortest one decides.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_BUCKETS_BUCKETCHOICE_H
#define REGATHER_ANALYSIS_BUCKETS_BUCKETCHOICE_H

#include "regather/Analysis/Buckets/BucketSizes.h"
#include "regather/Analysis/Buckets/MergedGraph.h"

namespace regather {

/// What schedules with buckets may take if nobody says so: `slack` times the
/// peak of the order of the graph, but always room for some small tensors.
/// O(n).
int64_t getBucketMemoryLimit(const TimedGraph &graph, double slack);

struct BucketChoiceProblem {
  TimedGraph graph;
  /// Collectives that may be merged: their operations, and what they carry. The
  /// instants of `sizes` follow from the graph.
  std::vector<CollectiveOps> collectives;
  BucketSizeProblem sizes;
  /// By operation of the graph: it can run at any time.
  std::vector<bool> isEarly;
  /// As for schedules.
  std::optional<int64_t> memoryLimit;
  /// Operations that schedules may look at in all; two choices are judged at
  /// least.
  uint64_t effort = 150'000;
};

struct BucketChoice {
  /// Every collective is in one, in the order of the step.
  std::vector<std::vector<uint32_t>> buckets;
  /// What a schedule takes, and what it takes without buckets. Estimates: the
  /// scheduler searches longer.
  double seconds = 0;
  double secondsWithout = 0;
  /// Choices that were scheduled.
  unsigned numJudged = 0;
};

/// Schedules the step with buckets of several sizes, smaller ones for what
/// comes first and last, with those of a dry run, and without any. Takes the
/// shortest, and of those that are as short the one that merges less; then
/// tries other sizes for gathers and reductions apart. Deterministic; O(n log
/// n) for each of a constant number of choices.
BucketChoice chooseScheduledBuckets(const BucketChoiceProblem &problem);

} // namespace regather

#endif // REGATHER_ANALYSIS_BUCKETS_BUCKETCHOICE_H
