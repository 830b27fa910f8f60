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
/// smaller budget or by more on the host. False if none of its decisions is a
/// number of bytes, but for those that are `given`.
bool takeLess(StepOptions &options, const StepOptions &given, int64_t bytes);

} // namespace regather

#endif // REGATHER_LIB_DRIVER_MEMORY_TAKELESS_H
