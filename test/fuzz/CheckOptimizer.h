//===- CheckOptimizer.h - Updates, computed a second time -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_FUZZ_CHECKOPTIMIZER_H
#define REGATHER_TEST_FUZZ_CHECKOPTIMIZER_H

#include "StepRun.h"

namespace regather::fuzz {

/// Compares the parameters of f32 and f64 that a step with an optimizer returns
/// with what the rule says, in doubles, of the gradients that it returns.
/// `options` are those of tg-append-optimizer. What is wrong, or an empty text.
std::string checkOptimizer(const StepRun &run, llvm::StringRef options,
                           const RunSettings &settings);

} // namespace regather::fuzz

#endif // REGATHER_TEST_FUZZ_CHECKOPTIMIZER_H
