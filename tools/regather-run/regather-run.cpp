//===- regather-run.cpp - Run a bundle ------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// What `regather run` does with a bundle, in a program that needs no LLVM.
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"

#include "regather/Execution/Bundle/PrintBundleRun.h"
#include "regather/Execution/Training/RunJob.h"
#include "regather/Support/Signals.h"

using namespace regather;

int main(int argc, char **argv) {
  ignoreFileSizeSignal();
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h") {
    std::fputs(getUsage().c_str(), arguments.empty() ? stderr : stdout);
    return finishOutput(arguments.empty() ? 1 : 0);
  }
  Result<RunFlags> flags = parseCommandLine(arguments);
  if (!flags)
    return printError(flags.getMessage());
  if (Failure failure = openJob(*flags))
    return printJobError(flags->job.get(), failure);
  Progress progress(flags->quiet);
  return printBundleRun(flags->options, makeBundleOptions(*flags), progress);
}
