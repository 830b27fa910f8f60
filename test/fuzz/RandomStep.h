//===- RandomStep.h - Valid training steps from a seed ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_FUZZ_RANDOMSTEP_H
#define REGATHER_TEST_FUZZ_RANDOMSTEP_H

#include "Draw.h"

#include <string>

namespace regather::fuzz {

/// A step, and what has to be known to run it.
struct RandomStep {
  /// A module of `tg` with one function.
  std::string text;
  /// Small integers as inputs make all sums exact, whatever their order.
  bool isExact = false;
  /// Operations have no phase: tg-infer-phases comes first.
  bool lacksPhases = false;
};

/// A step of one to four modules of random layers with their gradients: on one
/// device, or over a mesh of one to three axes with the collectives of
/// sharded, replicated and tensor parallel parameters and of sequences.
RandomStep makeRandomStep(Draw &draw);

} // namespace regather::fuzz

#endif // REGATHER_TEST_FUZZ_RANDOMSTEP_H
