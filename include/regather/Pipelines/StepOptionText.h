//===- StepOptionText.h - Options of a step as text -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Texts become options once, where a user wrote them. Messages begin with where
// that was, such as `--schedule`. Options of passes go over those of flags, so
// they are read after them.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_PIPELINES_STEPOPTIONTEXT_H
#define REGATHER_PIPELINES_STEPOPTIONTEXT_H

#include "regather/Pipelines/StepOptions.h"
#include "regather/Support/Result.h"

namespace regather {

/// The plan that leaves open what nobody has decided: `plan=as-captured`.
inline constexpr llvm::StringLiteral kAsCaptured = "as-captured";

/// Sets what the flag `name` is for: mesh (`dp:4` or `rep:2,dp:4`),
/// replicate-axis, batch, layout, or one of fuse-attention, policy, reshard,
/// recompute, optimizer, bucket, schedule and cuda-graph, which take the mode
/// of a pass and its options, such as `auto memory-limit=1.2x`, or `none`;
/// bucket a plan such as `[up],[down]`, too. An empty text changes nothing.
Failure setStepOption(StepOptions &options, llvm::StringRef name,
                      llvm::StringRef text, llvm::StringRef origin);

/// Sets options of a pass that the step goes through, such as
/// `max-ops=32 max-operands=8` of tg-form-kernels. A mode decides that the pass
/// runs.
Failure setPassOptions(StepOptions &options, llvm::StringRef pass,
                       llvm::StringRef text, llvm::StringRef origin);

/// The same for `PASS:OPTION=VALUE`.
Failure setPassOptions(StepOptions &options, llvm::StringRef text,
                       llvm::StringRef origin);

/// Reads a plan: `as-captured`, or options of passes as JSON, such as
/// `{"tg-form-kernels": {"max-ops": 32}}`, or the path of a file with them.
/// `origin` is where it is named.
Failure readPlan(StepOptions &options, const std::string &plan,
                 llvm::StringRef origin);

/// What has been decided, as setStepOption takes it: of policy, reshard,
/// recompute, optimizer, bucket and schedule; empty for what is open, or not
/// there.
std::string printStepOption(const StepOptions &options, llvm::StringRef name);

} // namespace regather

#endif // REGATHER_PIPELINES_STEPOPTIONTEXT_H
