/*===- Targets.h - Operators that nodes call ----------------------*- C -*-===*
 *
 * Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*/

#ifndef REGATHER_C_TARGETS_H
#define REGATHER_C_TARGETS_H

#include "regather-c/Status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** 1 if saving the results of `target`, such as `aten.mm.default`, is better
    than computing them again: GEMMs, convolutions, attention, sorting; 0 for
    others, for unknown ones, and for null. O(log n). */
REGATHER_C_EXPORT uint32_t regatherIsExpensiveTarget(const char *target);

#ifdef __cplusplus
}
#endif

#endif /* REGATHER_C_TARGETS_H */
