//===- StepReduction.h - Simpler operations for steps -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TOOLS_REGATHERREDUCE_STEPREDUCTION_H
#define REGATHER_TOOLS_REGATHERREDUCE_STEPREDUCTION_H

#include "mlir/IR/DialectRegistry.h"

namespace regather {

/// Lets the reduction of modules simplify steps: what an operation computes,
/// and what a collective brings, becomes one of its operands or a constant;
/// results of the step that are arguments or constants, and arguments that
/// nobody reads, are dropped, with the numbers in roles corrected.
void registerStepReduction(mlir::DialectRegistry &registry);

} // namespace regather

#endif // REGATHER_TOOLS_REGATHERREDUCE_STEPREDUCTION_H
