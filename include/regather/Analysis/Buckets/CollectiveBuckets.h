//===- CollectiveBuckets.h - Which collectives start as one -----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A bucket starts several collectives as one, and waits for them as one: its
// start depends on what any member needs, and whoever reads a member depends on
// its wait. That is possible unless a member needs what another one gives,
// directly or through other buckets. Buckets that are impossible are cut; no
// search for paths is needed, because an order that respects all of them is
// built at the same time.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_BUCKETS_COLLECTIVEBUCKETS_H
#define REGATHER_ANALYSIS_BUCKETS_COLLECTIVEBUCKETS_H

#include <cstdint>
#include <optional>
#include <vector>

namespace regather {

/// Operations by number, in an order in which each comes behind all that it
/// depends on.
struct DependencyGraph {
  /// Operation i depends on sources[begins[i]] to sources[begins[i + 1] - 1],
  /// all of which are smaller than i. Repetitions are allowed.
  std::vector<uint32_t> begins = {0};
  std::vector<uint32_t> sources;

  uint32_t getNumOps() const { return begins.size() - 1; }
  /// Adds an operation without dependencies, the last one.
  void addOp() { begins.push_back(sources.size()); }
  /// Adds a dependency of the last operation.
  void addSource(uint32_t source) {
    sources.push_back(source);
    ++begins.back();
  }
};

/// The operations of a collective; the wait depends on the start.
struct CollectiveOps {
  uint32_t start = 0;
  uint32_t wait = 0;
};

/// Numbers of the collectives that are to start as one.
using CollectiveBucket = std::vector<uint32_t>;

/// A part of a bucket that is possible.
struct BucketPart {
  /// The bucket that it comes from.
  uint32_t bucket = 0;
  /// In the order of the bucket.
  std::vector<uint32_t> members;
  /// If members of the bucket had to stay behind: the bucket that they depend
  /// on. It waits for this part, or is the same bucket.
  std::optional<uint32_t> cause;
};

/// What there was to do, for tests of growth.
struct BucketWork {
  uint64_t steps = 0;
};

/// Cuts buckets until all parts are possible together, and returns the parts in
/// an order in which they can start. A bucket is cut only if its members depend
/// on each other, possibly through other buckets; where so many are that it
/// takes more than a constant number of looks at each dependency to tell, also
/// without need. No collective is in two buckets. O(n + e + b log b) for n
/// operations, e dependencies and b buckets.
std::vector<BucketPart> cutCyclicBuckets(
    const DependencyGraph &graph, const std::vector<CollectiveOps> &collectives,
    const std::vector<CollectiveBucket> &buckets, BucketWork *work = nullptr);

/// Orders operations such that the members of each part can be one operation,
/// and so can their waits. The order is otherwise that of the numbers, as far
/// as dependencies allow, with these exceptions:
///
/// - a part starts where its last operand is there, but not before the first of
///   its members did;
/// - operations with `isEarly` (by number) that a part needs come before its
///   start, at the latest where its first member started;
/// - its wait stands before what reads it first, but not behind the last of the
///   waits that it replaces, unless the start is later.
///
/// Returns one number for each operation that is left: the members of a part
/// are the first of them, and so are their waits. The parts are possible
/// together. O((n + e) log n).
std::vector<uint32_t>
orderBuckets(const DependencyGraph &graph,
             const std::vector<CollectiveOps> &collectives,
             const std::vector<BucketPart> &parts,
             const std::vector<bool> &isEarly, BucketWork *work = nullptr);

} // namespace regather

#endif // REGATHER_ANALYSIS_BUCKETS_COLLECTIVEBUCKETS_H
