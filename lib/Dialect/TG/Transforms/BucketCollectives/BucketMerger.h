//===- BucketMerger.h - Make one collective of several ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_BUCKETCOLLECTIVES_BUCKETMERGER_H
#define REGATHER_DIALECT_TG_TRANSFORMS_BUCKETCOLLECTIVES_BUCKETMERGER_H

#include "BucketCandidates.h"

#include "regather/Analysis/Buckets/CollectiveBuckets.h"

namespace regather::tg::buckets {

/// Candidates that agree in their keys and are to start as one.
struct WantedBucket {
  std::string name;
  /// Numbers of candidates, in program order.
  std::vector<uint32_t> members;
};

/// The operations of `graph` and what each has to come behind: what it reads,
/// and what it must not cross. Communication and effects do not cross an
/// operation with effects, or one that communicates inside.
DependencyGraph getDependencies(const StepGraph &graph);

/// Replaces the candidates of each part by one collective, and orders the block
/// accordingly: see tg-bucket-collectives. `graph` does not describe the block
/// any more.
void mergeBuckets(mlir::FunctionOpInterface func, const StepGraph &graph,
                  const DependencyGraph &dependencies,
                  const Candidates &candidates,
                  llvm::ArrayRef<WantedBucket> wanted,
                  const std::vector<BucketPart> &parts);

/// Replaces a collective by one for each of `groups`, which hold the numbers of
/// its members; what is in none is dropped.
void takeApart(const Candidate &candidate,
               llvm::ArrayRef<llvm::SmallVector<unsigned>> groups);

} // namespace regather::tg::buckets

#endif // REGATHER_DIALECT_TG_TRANSFORMS_BUCKETCOLLECTIVES_BUCKETMERGER_H
