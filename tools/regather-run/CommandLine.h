//===- CommandLine.h - The command line of regather-run ------- -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TOOLS_REGATHER_RUN_COMMANDLINE_H
#define REGATHER_TOOLS_REGATHER_RUN_COMMANDLINE_H

#include "regather/Execution/Training/RunFlags.h"

namespace regather {

/// Reads `--name=value`, `--name value` and the name of the bundle.
Result<RunFlags> parseCommandLine(const std::vector<std::string> &arguments);

/// All flags, for people.
std::string getUsage();

} // namespace regather

#endif // REGATHER_TOOLS_REGATHER_RUN_COMMANDLINE_H
