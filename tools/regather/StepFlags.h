//===- StepFlags.h - Flags that say which step is meant ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TOOLS_REGATHER_STEPFLAGS_H
#define REGATHER_TOOLS_REGATHER_STEPFLAGS_H

#include "Commands.h"

#include "regather/Pipelines/StepOptions.h"

namespace regather {

/// Number of ranks that --ranks asks for.
std::optional<int64_t> getRequestedRanks();

/// What the flags of the step, --plan and --pass-option ask for.
Result<StepOptions> readStepFlags();

/// Fails if a flag but --ranks is given, all of which say what is to be made of
/// a step.
Failure rejectStepFlags();

/// The folder of --cache-dir, or its default; empty for none.
std::string getCacheDirectory();

unsigned getCompileThreads();

} // namespace regather

#endif // REGATHER_TOOLS_REGATHER_STEPFLAGS_H
