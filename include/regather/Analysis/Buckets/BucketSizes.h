//===- BucketSizes.h - How much to communicate at once ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Merging collectives saves the latency of all but one. It costs overlap: a
// merged gather has to be there for its first reader, and a merged reduction
// starts behind its last operand. So only what a dry run leaves waiting is
// merged, and only as long as the dry run gets shorter.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_BUCKETS_BUCKETSIZES_H
#define REGATHER_ANALYSIS_BUCKETS_BUCKETSIZES_H

#include <cstdint>
#include <functional>
#include <vector>

namespace regather {

/// A gather of parameters or a reduction of gradients. Instants are seconds of
/// computation, in the order of the step, without any waiting.
struct SizedCollective {
  /// What has the same key can be one collective.
  uint32_t key = 0;
  /// Collectives of one stream run one after the other.
  uint32_t stream = 0;
  /// What is no gather is a reduction.
  bool isGather = true;
  /// When its operands are there.
  double ready = 0;
  /// When it is read; reductions are read at the end.
  double need = 0;
  /// Received by each rank.
  double receivedBytes = 0;
  /// Of the whole tensors.
  int64_t wholeBytes = 0;
  /// Received bytes beyond which it does not grow.
  double saturatingBytes = 0;
};

struct BucketSizeProblem {
  /// In the order of the step.
  std::vector<SizedCollective> collectives;
  /// All computation.
  double computeSeconds = 0;
  /// What a collective like the one with this number takes for so many received
  /// bytes.
  std::function<double(uint32_t, double)> getSeconds;
  /// Most bytes that the whole tensors of a bucket may have, and those of all
  /// gathers that have started and are not read yet.
  int64_t maxBytes = 0;
  /// Those of the largest unit, to which the sizes that are tried are related.
  int64_t unitBytes = 0;
  /// Most seconds of computation between the operands of a reduction; 0 for as
  /// long as the reduction takes.
  double maxCompute = 0;
};

/// What `maxBytes` is if nobody says so: the largest unit, as FSDP gathers it.
/// Where nothing is gathered, units are no measure, and buckets may have what
/// saturates the link.
int64_t getDefaultMaxBytes(const BucketSizeProblem &problem);

struct DryRun {
  double seconds = 0;
  /// By bucket: computation waits for it, or for what runs right behind it.
  std::vector<bool> isExposed;
};

/// Computation in the order of the step. A gather starts as early as `maxBytes`
/// allow, at the latest when computation comes to what reads the gather before;
/// reductions start when their operands are there. O(n log n).
DryRun runDry(const BucketSizeProblem &problem,
              const std::vector<std::vector<uint32_t>> &buckets);

/// Every collective is in one bucket, in the order of the step. O(k n log n)
/// for k keys.
std::vector<std::vector<uint32_t>>
chooseBuckets(const BucketSizeProblem &problem);

} // namespace regather

#endif // REGATHER_ANALYSIS_BUCKETS_BUCKETSIZES_H
