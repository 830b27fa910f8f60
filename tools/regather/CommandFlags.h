//===- CommandFlags.h - Flags of commands -----------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TOOLS_REGATHER_COMMANDFLAGS_H
#define REGATHER_TOOLS_REGATHER_COMMANDFLAGS_H

#include "Commands.h"

#include "regather/Driver/CommandRequest.h"

namespace regather {

/// Declares a flag for each option of the driver. Called once, before the
/// command line is parsed.
void declareCommandFlags();

/// What the flags ask of the command that is given.
Result<CommandRequest> readCommandFlags(Command command);

/// Fails if a flag of `regather run` is given that says what is to be made of a
/// step.
Failure rejectStepFlags();

} // namespace regather

#endif // REGATHER_TOOLS_REGATHER_COMMANDFLAGS_H
