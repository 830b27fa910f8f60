//===- Graph.h - Graphs of the C interface ----------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_CAPI_GRAPH_H
#define REGATHER_LIB_CAPI_GRAPH_H

#include "regather-c/Graph.h"
#include "regather/Analysis/Recomputation/PyTorchPartition.h"

#include <vector>

struct RegatherGraph {
  std::vector<regather::JointNode> nodes;
  /// By node, that of its target; and by target, RegatherTargetTrait.
  std::vector<uint32_t> targets, targetTraits;

  /// True if the target of a call has one of the traits.
  bool hasTargetTrait(uint32_t node, uint32_t traits) const {
    return targetTraits[targets[node]] & traits;
  }
};

#endif // REGATHER_LIB_CAPI_GRAPH_H
