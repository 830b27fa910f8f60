//===- StepReduction.h - Reduce a step that shows a fault -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TOOLS_REGATHERREDUCE_STEPREDUCTION_H
#define REGATHER_TOOLS_REGATHERREDUCE_STEPREDUCTION_H

namespace regather {

/// Registers `-step-reduction=test=PROGRAM`, which reduces steps: what
/// operations compute, and what collectives bring, becomes one of their
/// operands or a constant; what is dead then goes, results and arguments of the
/// step too, with the numbers in roles corrected.
void registerStepReduction();

} // namespace regather

#endif // REGATHER_TOOLS_REGATHERREDUCE_STEPREDUCTION_H
