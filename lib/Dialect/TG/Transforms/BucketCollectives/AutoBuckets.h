//===- AutoBuckets.h - Buckets by schedules ---------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_BUCKETCOLLECTIVES_AUTOBUCKETS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_BUCKETCOLLECTIVES_AUTOBUCKETS_H

#include "BucketMerger.h"

#include "regather/Dialect/TG/Steps/StepCosts.h"

namespace regather::tg::buckets {

struct AutoOptions {
  /// A collective that reaches this part of the bandwidth does not grow any
  /// further.
  double saturation = 0.9;
  /// Most bytes of whole tensors in a bucket; 0 for those of the largest unit.
  int64_t maxBytes = 0;
  /// Most seconds of computation between the operands of a reduction; 0 for no
  /// limit.
  double maxCompute = 0;
};

struct AutoBuckets {
  /// The buckets of several candidates, which have no name.
  std::vector<WantedBucket> wanted;
  /// What a schedule of the step takes without buckets, and with them.
  double secondsBefore = 0;
  double secondsAfter = 0;
  /// Schedules that were compared.
  unsigned numJudged = 0;
};

/// Chooses among the candidates without a mark.
AutoBuckets chooseAutoBuckets(mlir::FunctionOpInterface func,
                              const StepGraph &graph, const Candidates &found,
                              StepCosts &costs, const AutoOptions &options);

} // namespace regather::tg::buckets

#endif // REGATHER_DIALECT_TG_TRANSFORMS_BUCKETCOLLECTIVES_AUTOBUCKETS_H
