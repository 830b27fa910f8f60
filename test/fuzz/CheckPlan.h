//===- CheckPlan.h - What is done to a step to check it ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_FUZZ_CHECKPLAN_H
#define REGATHER_TEST_FUZZ_CHECKPLAN_H

#include "RandomPipeline.h"

#include "regather/Support/Result.h"

namespace regather::fuzz {

/// All that a check of one step depends on. A file of it replays the check.
struct CheckPlan {
  /// Passes that make the step the one that counts, such as
  /// tg-shard-parameters; then those that are checked against it.
  std::vector<PassCall> preparation, pipeline;
  /// The driver prepares the step by the options of `pipeline` and decides what
  /// they leave open, instead of running these passes.
  bool byDriver = false;
  /// Of the passes that make a program of the step.
  std::vector<PassCall> program;
  /// Seed of inputs, and whether they are integers.
  uint64_t inputs = 0;
  bool isExact = false;
  /// Draws orders of ranks and collectives.
  uint64_t order = 0;
  /// Each pass runs twice, and the second time on what was printed and parsed.
  bool repeats = false;
  /// The step runs compiled, too, and not on the interpreter alone. Compiling
  /// takes most of a case's time.
  bool compiles = true;
  /// The step runs as a bundle, too.
  bool bundles = false;
  /// It is compiled twice with a cache of kernels, too.
  bool caches = false;
  /// Kernels are optimised; those that are not are ready in less than half the
  /// time.
  bool optimizes = true;

  std::string print() const;
};

Result<CheckPlan> parsePlan(llvm::StringRef text);

} // namespace regather::fuzz

#endif // REGATHER_TEST_FUZZ_CHECKPLAN_H
