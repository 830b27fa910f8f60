//===- CheckStep.h - Check a step against the interpreter -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_FUZZ_CHECKSTEP_H
#define REGATHER_TEST_FUZZ_CHECKSTEP_H

#include "CheckPlan.h"

#include "mlir/IR/MLIRContext.h"

namespace regather::fuzz {

/// What became of one pass.
struct PassOutcome {
  PassCall call;
  /// `changed`, `unchanged` or `refused`.
  std::string result;
  /// Why it was refused.
  std::string reason;
};

/// What a check found.
struct CheckOutcome {
  /// What kind of fault, such as `mismatch cpu` or `verify tg-schedule`; empty
  /// if there is none. Shrinking keeps it.
  std::string kind;
  std::string message;
  /// The step itself is none that can be checked, and why.
  std::string invalid;
  std::vector<PassOutcome> passes;
};

/// Parses the step, runs the passes one by one, each followed by the verifiers,
/// and compares what the engines compute before and after. A pass may refuse
/// with an error; the next one takes the step as it was. Diagnostics are
/// swallowed.
CheckOutcome checkStep(llvm::StringRef text, const CheckPlan &plan,
                       mlir::MLIRContext &context);

} // namespace regather::fuzz

#endif // REGATHER_TEST_FUZZ_CHECKSTEP_H
