//===- StepProfile.h - Where the time of a step goes ---------- -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_PROFILE_STEPPROFILE_H
#define REGATHER_EXECUTION_PROFILE_STEPPROFILE_H

#include "regather/Execution/Engines/Engine.h"
#include "regather/Execution/Profile/MachineRates.h"

#include <map>
#include <tuple>

namespace regather {

/// Where a kernel is launched.
struct KernelPlace {
  /// The path of the module, and file:line:column; empty if not known.
  std::string module, source;
  /// Of one step.
  double calls = 0, seconds = 0;
};

/// A kernel, and all that it did in a step.
struct KernelProfile {
  std::string name;
  RunWork work = RunWork::Kernel;
  bool isNarrow = false;
  /// What the program says that one call costs.
  double flops = 0;
  int64_t bytes = 0;
  /// Of one step, the sum over its places, which stand in order of time.
  double calls = 0, seconds = 0;
  std::vector<KernelPlace> places;

  double getFlopsPerSecond() const;
  double getBytesPerSecond() const;
};

/// Where the time of a step goes on one rank: means over the steps that count.
struct StepProfile {
  int32_t rank = 0;
  int32_t threads = 0;
  /// Steps that count, and whether the first was left out.
  int64_t steps = 0;
  bool leavesOutFirst = false;
  /// Of a step: in all, in the kernels below, and blocked by communication.
  double seconds = 0, kernelSeconds = 0, waitSeconds = 0;
  /// In order of time.
  std::vector<KernelProfile> kernels;
  MachineRates machine;

  /// What is neither kernel nor wait.
  double getOtherSeconds() const {
    return seconds - kernelSeconds - waitSeconds;
  }
};

/// How near a kernel comes to what the machine could do: the time that its
/// arithmetic or its bytes take at the machine's rates, whichever is longer, as
/// a part of the time that it takes. Above 1 if its bytes stay in a cache. 0 if
/// it is not known.
double getRoofShare(const KernelProfile &kernel, const MachineRates &machine);

/// Such as "gemm".
const char *getName(RunWork work);

/// Sums up what a rank did in several steps. If there are several, the first
/// does not count: it pays for what is done once.
class ProfileCollector {
public:
  /// Takes what the rank did in a step of so many seconds.
  void addStep(const std::vector<RunSpan> &spans, double seconds);
  bool isEmpty() const { return steps == 0; }

  /// The means over the steps; without a machine.
  StepProfile finish() const;

private:
  struct Sum {
    int64_t calls = 0;
    double seconds = 0;
  };
  /// Equal kernels of two parts of a step may have different names, and
  /// different ones equal names.
  using Kernel = std::tuple<std::string, RunWork, bool, double, int64_t>;
  using Place = std::pair<std::string, std::string>;

  void addSpan(const RunSpan &span);

  std::map<Kernel, std::map<Place, Sum>> kernels;
  double stepSeconds = 0, waitSeconds = 0;
  int64_t steps = 0;
  bool leavesOutFirst = false;
};

} // namespace regather

#endif // REGATHER_EXECUTION_PROFILE_STEPPROFILE_H
