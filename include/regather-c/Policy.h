/*===- Policy.h - What checkpointed units keep --------------------*- C -*-===*
 *
 * Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*
 *
 * The decisions of the pass `tg-apply-policy`, for a joint graph.
 *
 *===----------------------------------------------------------------------===*/

#ifndef REGATHER_C_POLICY_H
#define REGATHER_C_POLICY_H

#include "regather-c/Graph.h"
#include "regather-c/ModulePaths.h"

#ifdef __cplusplus
extern "C" {
#endif

enum RegatherPolicyPlan {
  RegatherPolicyNone = 0,
  RegatherPolicyFull = 1,
  RegatherPolicySelective = 2
};

/** Texts end with a zero. */
typedef struct RegatherTexts {
  uint32_t count;
  const char *const *elements;
} RegatherTexts;

typedef struct RegatherPolicy {
  /** RegatherPolicyPlan of all units that no pattern names. */
  uint32_t plan;
  /** Not 0: selective plans compute every second library call again. */
  uint32_t everySecondProduct;
  /** Module patterns, and RegatherPolicyPlan of each. */
  RegatherTexts patterns;
  const uint32_t *patternPlans;
  /** Patterns of targets that selective plans save instead of what is slow or
      small. */
  RegatherTexts saved;
  /** The modules of the graph, in the order of their nodes; by node, the number
     of its module or REGATHER_C_NONE; by target, its name. */
  RegatherTexts modules;
  const uint32_t *moduleOfNode;
  const char *const *targetNames;
  /** By node: not 0 for arguments that are parameters. What is made of one
     alone gets no mark. */
  const uint8_t *isParameter;
  /** Not 0: so many units have `plan`, from the first one of forward on, and
     those behind them RegatherPolicyPlan `others`. */
  uint32_t units;
  uint32_t others;
} RegatherPolicy;

/** Marks nodes of forward that have no mark yet. What does not come out the
   same again, such as random numbers, is saved. Fails for patterns that match
    nothing, for modules that two of them match, and for fewer units than
   `units`. Linear. */
REGATHER_C_EXPORT RegatherStatus *
regatherGraphApplyPolicy(RegatherGraph *graph, const RegatherPolicy *policy);

#ifdef __cplusplus
}
#endif

#endif /* REGATHER_C_POLICY_H */
