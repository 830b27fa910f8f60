//===- ProfileKinds.h - Kernels by what computes them --------- -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_EXECUTION_PROFILE_PROFILEKINDS_H
#define REGATHER_LIB_EXECUTION_PROFILE_PROFILEKINDS_H

#include "regather/Execution/Profile/StepProfile.h"

#include <algorithm>

namespace regather {

/// The kernels of one kind together.
struct KindProfile {
  RunWork work;
  int64_t kernels = 0;
  /// Of one step.
  double calls = 0, seconds = 0, flops = 0, bytes = 0;
};

/// Those that there are, in order of time.
inline std::vector<KindProfile> listKinds(const StepProfile &profile) {
  std::vector<KindProfile> kinds;
  for (const KernelProfile &kernel : profile.kernels) {
    auto kind =
        std::find_if(kinds.begin(), kinds.end(), [&](const KindProfile &each) {
          return each.work == kernel.work;
        });
    if (kind == kinds.end())
      kind = kinds.insert(kinds.end(), KindProfile{kernel.work});
    ++kind->kernels;
    kind->calls += kernel.calls;
    kind->seconds += kernel.seconds;
    kind->flops += kernel.flops * kernel.calls;
    kind->bytes += static_cast<double>(kernel.bytes) * kernel.calls;
  }
  std::sort(kinds.begin(), kinds.end(),
            [](const KindProfile &a, const KindProfile &b) {
              return a.seconds != b.seconds ? a.seconds > b.seconds
                                            : a.work < b.work;
            });
  return kinds;
}

/// 0 of nothing.
inline double getRatio(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

} // namespace regather

#endif // REGATHER_LIB_EXECUTION_PROFILE_PROFILEKINDS_H
