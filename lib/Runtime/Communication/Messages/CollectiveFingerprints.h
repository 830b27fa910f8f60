//===- CollectiveFingerprints.h - What ranks compare ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_COMMUNICATION_MESSAGES_COLLECTIVEFINGERPRINTS_H
#define REGATHER_LIB_RUNTIME_COMMUNICATION_MESSAGES_COLLECTIVEFINGERPRINTS_H

#include "regather/Runtime/Program.h"

#include <vector>

namespace regather::runtime {

/// Numbers that are equal on two ranks if their programs have equal
/// collectives, and otherwise, but for chance, are not.
struct CollectiveFingerprints {
  /// Of the meshes: how many communicators there are, and over which ranks.
  uint64_t axes = 0;
  /// Of the order in which all collectives start.
  uint64_t order = 0;
  /// Of the collectives of each communicator, in their order.
  std::vector<uint64_t> communicators;
};

/// Linear in the size of the program.
CollectiveFingerprints getCollectiveFingerprints(const rg_program &program);

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_COMMUNICATION_MESSAGES_COLLECTIVEFINGERPRINTS_H
