//===- MergedGraph.h - A step with buckets ----------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_BUCKETS_MERGEDGRAPH_H
#define REGATHER_ANALYSIS_BUCKETS_MERGEDGRAPH_H

#include "regather/Analysis/Buckets/CollectiveBuckets.h"
#include "regather/Analysis/TimedGraph.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace regather {

/// What comes behind what in a graph.
DependencyGraph getDependencies(const TimedGraph &graph);

/// The graph in which the members of each part start as one and are waited
/// for as one; its order is that of `orderBuckets`. Nothing is copied: members
/// keep their buffers. `getSeconds` says what a part takes; parts of one member
/// take what they took. O((n + e) log n).
TimedGraph mergeCollectives(
    const TimedGraph &graph, const std::vector<CollectiveOps> &collectives,
    const std::vector<BucketPart> &parts, const std::vector<bool> &isEarly,
    llvm::function_ref<double(const BucketPart &)> getSeconds);

} // namespace regather

#endif // REGATHER_ANALYSIS_BUCKETS_MERGEDGRAPH_H
