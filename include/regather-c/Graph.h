/*===- Graph.h - Joint graphs as flat arrays ---------------------*- C -*-===*
 *
 * Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*
 *
 * A graph of forward and backward, or of one of them, as an FX graph holds it:
 * nodes by number, in an order in which each comes behind what it reads.
 *
 *===----------------------------------------------------------------------===*/

#ifndef REGATHER_C_GRAPH_H
#define REGATHER_C_GRAPH_H

#include "regather-c/Status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What the target of a call is. */
enum RegatherTargetTrait {
  /** The result may share the memory of an operand. */
  RegatherTargetView = 1 << 0,
  /** Fast to compute again, says PyTorch's list. */
  RegatherTargetRecomputable = 1 << 1,
  /** A compiler fuses it with its neighbours. */
  RegatherTargetFusible = 1 << 2,
  /** Everything is fused into it. */
  RegatherTargetConcatenation = 1 << 3,
  /** A GEMM, a convolution, attention: computed again only if marked so. */
  RegatherTargetLibraryCall = 1 << 4,
  /** Must not run twice: random, or with effects outside of the graph. */
  RegatherTargetUnrepeatable = 1 << 5,
  /** Stays although nobody reads its result. */
  RegatherTargetEffects = 1 << 6,
  /** Starts a gather of shards, starts another collective, waits for one. */
  RegatherTargetGather = 1 << 7,
  RegatherTargetCollective = 1 << 8,
  RegatherTargetWait = 1 << 9
};

/** What a node is. */
enum RegatherNodeTrait {
  /** A parameter, a buffer or a part of the batch. */
  RegatherNodeArgument = 1 << 0,
  /** The gradient of a result of forward. */
  RegatherNodeTangent = 1 << 1,
  /** One result of a call that has several, or an attribute of the module. */
  RegatherNodeItem = 1 << 2,
  /** No single value: it cannot be saved. */
  RegatherNodeTuple = 1 << 3,
  /** Lives anyway: saving it costs nothing. */
  RegatherNodeFree = 1 << 4,
  /** A result of forward, of backward; not both. */
  RegatherNodeForwardResult = 1 << 5,
  RegatherNodeBackwardResult = 1 << 6,
  /** Policies; at most one. "Must" is an order, "prefer" a matter of cost. */
  RegatherNodeMustSave = 1 << 7,
  RegatherNodeMustRecompute = 1 << 8,
  RegatherNodePreferSave = 1 << 9,
  RegatherNodePreferRecompute = 1 << 10,
  /** Of an argument that is gathered: backward gathers it again. */
  RegatherNodeReleased = 1 << 11
};

/** The lengths are those of the counts. The library copies what it keeps. */
typedef struct RegatherGraphArrays {
  uint32_t numNodes;
  uint32_t numTargets;
  /** By node: the number of its target; any target for what is no call. */
  const uint32_t *targets;
  /** By node: RegatherNodeTrait. */
  const uint32_t *nodeTraits;
  /** By target: RegatherTargetTrait. */
  const uint32_t *targetTraits;
  /** numNodes + 1 places in `inputs`, from 0 up: node i reads those from
      inputBegins[i] to inputBegins[i + 1] - 1, each a smaller number than i. */
  const uint32_t *inputBegins;
  const uint32_t *inputs;
  /** By node: bytes of its result, and of the tensors among its positional
      operands. Not negative; they add up to less than 2^46. */
  const int64_t *bytes;
  const int64_t *inputBytes;
} RegatherGraphArrays;

typedef struct RegatherGraph RegatherGraph;

/** Checks the arrays and copies them. */
REGATHER_C_EXPORT RegatherStatus *
regatherGraphCreate(const RegatherGraphArrays *arrays, RegatherGraph **graph);

/** Does nothing for null. */
REGATHER_C_EXPORT void regatherGraphDestroy(RegatherGraph *graph);

#ifdef __cplusplus
}
#endif

#endif /* REGATHER_C_GRAPH_H */
