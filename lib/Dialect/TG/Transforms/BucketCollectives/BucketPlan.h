//===- BucketPlan.h - Which modules share a bucket --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_BUCKETCOLLECTIVES_BUCKETPLAN_H
#define REGATHER_DIALECT_TG_TRANSFORMS_BUCKETCOLLECTIVES_BUCKETPLAN_H

#include "regather/Support/Result.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace regather::tg::buckets {

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
};

/// Reads a plan in the syntax of tg-bucket-collectives; `@FILE` stands for what
/// is in the file. Errors say where.
Result<BucketPlan> readBucketPlan(llvm::StringRef text);

} // namespace regather::tg::buckets

#endif // REGATHER_DIALECT_TG_TRANSFORMS_BUCKETCOLLECTIVES_BUCKETPLAN_H
