/*===- StepPlan.h - What is to be done to a step ------------------*- C -*-===*
 *
 * Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*/

#ifndef REGATHER_C_STEPPLAN_H
#define REGATHER_C_STEPPLAN_H

#include "regather-c/Module.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Reads flags of `regather`: plan (the path of a file, or its text), policy,
    reshard, recompute, bucket and schedule, for those who carry them out
    themselves. The JSON of the output is an object with these names. What
    nobody has decided is null; else it has all options of the pass by name,
    and, but for policy, `runs`, whether the pass is wanted. `named-passes`
    lists the passes of the plan. */
REGATHER_C_EXPORT RegatherStatus *regatherReadStepPlan(RegatherOptions options,
                                                       RegatherOutput **output);

#ifdef __cplusplus
}
#endif

#endif /* REGATHER_C_STEPPLAN_H */
