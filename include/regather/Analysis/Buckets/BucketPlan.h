//===- BucketPlan.h - Which modules share a bucket --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_BUCKETS_BUCKETPLAN_H
#define REGATHER_ANALYSIS_BUCKETS_BUCKETPLAN_H

#include "regather/Analysis/Modules/ModulePattern.h"
#include "regather/Support/Result.h"

#include <string>
#include <vector>

namespace regather {

/// Module patterns, and the bucket of each.
struct BucketPlan {
  struct Bucket {
    /// Its patterns, separated by commas.
    std::string name;
    /// Each module that a pattern matches has a bucket of its own.
    bool isEach = false;
  };
  std::vector<Bucket> buckets;
  std::vector<std::string> patterns;
  /// By pattern.
  std::vector<unsigned> bucketOf;

  /// The name of the bucket of a module that a pattern matches; empty if none
  /// does.
  std::string getBucketName(const PatternMatch &match) const;
};

/// Reads a plan in the syntax of tg-bucket-collectives; `@FILE` stands for what
/// is in the file. Errors say where.
Result<BucketPlan> readBucketPlan(llvm::StringRef text);

} // namespace regather

#endif // REGATHER_ANALYSIS_BUCKETS_BUCKETPLAN_H
