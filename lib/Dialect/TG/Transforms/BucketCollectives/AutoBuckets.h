//===- AutoBuckets.h - Buckets by a dry run ---------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_BUCKETCOLLECTIVES_AUTOBUCKETS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_BUCKETCOLLECTIVES_AUTOBUCKETS_H

#include "BucketMerger.h"

#include "regather/Dialect/TG/Utils/StepCosts.h"

namespace regather::tg::buckets {

struct AutoOptions {
  /// Part of the bandwidth from which on a collective does not grow.
  double saturation = 0.9;
  /// Of whole tensors in a bucket; 0 for those of the largest unit.
  int64_t maxBytes = 0;
  /// Seconds of computation between the operands of a reduction; 0 for as long
  /// as it takes.
  double maxCompute = 0;
};

/// What a dry run says.
struct AutoBuckets {
  /// Those of several candidates, without a name.
  std::vector<WantedBucket> wanted;
  double computeSeconds = 0;
  /// What the step takes without buckets, and with them.
  double secondsBefore = 0;
  double secondsAfter = 0;
};

/// Chooses among the candidates without a mark.
AutoBuckets chooseAutoBuckets(mlir::FunctionOpInterface func,
                              const StepGraph &graph,
                              llvm::ArrayRef<Candidate> candidates,
                              StepCosts &costs, const AutoOptions &options);

} // namespace regather::tg::buckets

#endif // REGATHER_DIALECT_TG_TRANSFORMS_BUCKETCOLLECTIVES_AUTOBUCKETS_H
