//===- DataMovement.h - What a collective does to its buffers ---*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The work of one collective, cut into one part per group position, so that
// several workers share it.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_COMMUNICATION_THREADS_DATAMOVEMENT_H
#define REGATHER_LIB_RUNTIME_COMMUNICATION_THREADS_DATAMOVEMENT_H

#include "Communication/Collective.h"

namespace regather::runtime {

/// Does part `part` of `collective`; there are as many as ranks in the group,
/// and `buffers` holds for each position the buffers of the members. Parts
/// touch disjoint outputs and may run at the same time and in any order.
///
/// A part fills the outputs of the position of its number. Only all_reduce is
/// cut along the elements instead: each element is combined once for all ranks,
/// and no part reads what another one overwrites in place.
void runPart(const Collective &collective,
             const std::vector<std::vector<Buffers>> &buffers, int64_t part);

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_COMMUNICATION_THREADS_DATAMOVEMENT_H
