//===- RunFlags.h - Flags of a run of a bundle ------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TOOLS_REGATHER_RUN_RUNFLAGS_H
#define REGATHER_TOOLS_REGATHER_RUN_RUNFLAGS_H

#include "regather/Execution/Bundle/Bundle.h"
#include "regather/Execution/Engines/Communicator.h"

namespace regather {

/// What the command line says; flags are those of `regather run`.
struct RunFlags {
  RunOptions options;
  BundleOptions bundle;
  /// 0 if no flag says it.
  double timeout = 0;
  int32_t ranks = 0;
  std::string communicator;
  bool quiet = false;
};

/// Reads `--name=value`, `--name value` and the name of the bundle.
Failure parseRunFlags(const std::vector<std::string> &arguments,
                      RunFlags &flags);

/// All flags, for people.
std::string getUsage();

} // namespace regather

#endif // REGATHER_TOOLS_REGATHER_RUN_RUNFLAGS_H
