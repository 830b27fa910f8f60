//===- RankGroups.h - Groups of ranks along axes ----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_PROGRAM_RANKGROUPS_H
#define REGATHER_LIB_RUNTIME_PROGRAM_RANKGROUPS_H

#include "regather/Runtime/Program.h"

#include <vector>

namespace regather::runtime {

/// The position of a rank along axes, which is the one in its group.
int64_t getPosition(const rg_axes &axes, int64_t rank);

/// The ranks of a rank's group, in group order.
std::vector<int32_t> getGroup(const rg_axes &axes, int64_t rank);

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_PROGRAM_RANKGROUPS_H
