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
#include "regather/Support/Result.h"

#include <vector>

namespace regather::runtime {

/// The position of a rank along axes, which is the one in its group.
int64_t getPosition(const rg_axes &axes, int64_t rank);

/// The ranks of a rank's group, in group order.
std::vector<int32_t> getGroup(const rg_axes &axes, int64_t rank);

/// Fails with RG_ERROR_ARGUMENT if axes of the program make no sense, or lead
/// to more ranks than there are.
Failure checkAxes(const rg_program &program, int32_t ranks);

/// How many ranks run a program in one process: as many as are `wanted`; if
/// that is 0, as it was compiled for. Fails with RG_ERROR_ARGUMENT if it was
/// compiled for others.
Result<int32_t> chooseNumRanks(const rg_program &program, int32_t wanted);

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_PROGRAM_RANKGROUPS_H
