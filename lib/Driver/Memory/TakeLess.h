//===- TakeLess.h - Decisions with fewer bytes ------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DRIVER_MEMORY_TAKELESS_H
#define REGATHER_LIB_DRIVER_MEMORY_TAKELESS_H

#include "regather/Pipelines/StepOptions.h"

namespace regather {

/// Lets a step take about so many bytes less, or more if that is negative, by a
/// smaller budget, by more on the host or by a policy for more units, each of
/// which takes `unitBytes` less then. False if none of its decisions is such a
/// number, but for those that are `given`, or if it stays as it is.
bool takeLess(StepOptions &options, const StepOptions &given, int64_t bytes,
              int64_t unitBytes);

/// The decisions without such numbers: what is kept, and how.
std::string describeKind(const StepOptions &options);

} // namespace regather

#endif // REGATHER_LIB_DRIVER_MEMORY_TAKELESS_H
