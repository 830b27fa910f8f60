//===- BucketPlanReader.cpp - Which modules share a bucket ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reader.h"

#include "regather/Analysis/Buckets/BucketPlan.h"

using namespace regather;
using namespace regather::fuzz;

/// Reads a plan and matches its patterns with some modules.
static std::string readBucketPlanBytes(std::string_view bytes) {
  static const llvm::StringRef kPaths[] = {
      "",           "embedding", "layers.0.attention.wq", "layers.0.mlp",
      "layers.1",   "head",      "layers.10.attention",   "norm",
      "layers.100", "up.down"};
  llvm::StringRef text(bytes.data(), bytes.size());
  // What comes then is the name of a file.
  if (text.ltrim().starts_with("@"))
    return "a file";
  Result<BucketPlan> plan = readBucketPlan(text);
  if (!plan)
    return plan.getMessage();
  if (plan->patterns.size() != plan->bucketOf.size())
    reportFind("patterns without buckets");
  PatternMatches matches =
      matchModulePatterns("plan", plan->patterns, kPaths, "module");
  if (matches.failure)
    return matches.failure.getMessage();
  for (const PatternMatch &match : matches.matches)
    (void)plan->getBucketName(match);
  return std::string();
}

const Reader regather::fuzz::bucketPlanReader = {"buckets",
                                                 readBucketPlanBytes};
